/* listeners.h: where connections come from: the open listeners, and how one takes a connection.
 *
 * Included by seam.h, because most parts that do I/O need it. */
#ifndef NEST_LISTENERS_H
#define NEST_LISTENERS_H

#include "../settings.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct nest__arrival; /* seam.h */

/* Whether connections of a listener are encrypted, as the word tls of option listen says. */
enum nest__listen_tls {
    NEST__LISTEN_UNSAID, /* it follows no address: as option tls and the actions say */
    NEST__LISTEN_CLEAR,  /* it follows other addresses only: from their beginning in clear */
    NEST__LISTEN_TLS     /* from their beginning encrypted */
};

struct nest__listener {
    int fd;
    uint8_t kind;
    bool given;   /* by systemd or inetd: never shut down, its queue is left for the next server */
    bool proxied; /* its connections begin with the header of a proxy */
    uint8_t tls;  /* enum nest__listen_tls */
    char name[112]; /* "127.0.0.1:8080", "[::]:8080", "unix:/path" */
};
extern struct nest__listener nest__listeners[NEST__LISTEN_MAX];
extern unsigned nest__listener_count;
/* Opens all listeners of nest__config. Returns 0, or -errno after a message. If there are several
 * listeners, or given ones, accept does not block from here on. */
int nest__listen_open(void);
bool nest__listen_encrypts(void);   /* a listener is NEST__LISTEN_TLS */
void nest__listen_close(void);      /* closes all; removes the files of the Unix sockets it made */
int nest__listen_nonblocking(void); /* for models that poll: accept never blocks; 0 or -errno */
/* A stop: new clients are refused, and threads that wait in take or take_any wake. Clients in the
 * queues of our own listeners are still served: take and take_any return them without waiting, and
 * then -EINVAL. Returns true if all queues are empty. Where workers are processes, the supervisor
 * calls it again each time a worker has ended, until it returns true, because a client that still
 * waits needs another worker. */
bool nest__listen_stop(void);
/* Accepts one connection into *arrival. `nonblocking` makes the connection nonblocking. Returns 0;
 * -EAGAIN: no connection; -EINVAL: the server stops and the queue is empty; -ESHUTDOWN: the filter
 * has ended, so listeners must be disarmed and armed again; or another -errno, after which the
 * listener still works. Retries after ECONNABORTED, but returns -EINTR, so that the caller can see
 * what a signal handler has set. */
int nest__take(struct nest__listener *, struct nest__arrival *, bool nonblocking);
/* Waits for a connection on any listener. -EAGAIN: another worker has accepted it. */
int nest__take_any(struct nest__arrival *);
void nest__take_leave(void); /* the calling thread takes no connection any more */
/* In a loop, before its listeners are armed and after they were disarmed. If filters are in front
 * of the server, it makes the links to them and asks for connections, or closes the links. The
 * descriptors of the listeners change then. Returns 0 or -errno. */
int nest__listen_arm(bool on);
/* inetd's nowait: inetd has passed one connection. Returns true once. Then there are no listeners,
 * and max_clients is 1: the worker model serves this connection without another process, and then
 * ends. `nonblocking` makes the connection nonblocking. */
bool nest__take_only(struct nest__arrival *, bool nonblocking);
/* Reports that no connection can be accepted for lack of descriptors or memory (-errno). Prints one
 * line per minute, not one per client. `said` is the caller's record of the time of the last line;
 * it is zero before the first. */
void nest__scarce(_Atomic uint32_t *said, int error);
/* inetd's wait: after how many ms without a client the server ends, as after TERM; 0: never. */
uint32_t nest__listen_idle_exit(void);

#endif
