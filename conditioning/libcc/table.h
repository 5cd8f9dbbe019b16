/* What the library knows about descriptors: connections, listening descriptors (links), and events
 * to report beside the system's. One lock guards all of it.
 * Must not know: how the calls are named that use it. */
#ifndef CC_TABLE_H
#define CC_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include "wire.h"

/* A connection from cc_accept. Descriptors made by cc_dup share it. */
struct cc__conn {
    unsigned refs;
    char *bytes;           /* the request, or NULL when it is in `memfd` or consumed */
    size_t length, offset; /* of the request; what was read of it */
    int memfd;             /* or -1 */
    unsigned leases;
    int lease[CC__LEASES]; /* write ends; a filter waits until all copies are closed */
};

/* A listening descriptor. Each process has a link of its own to the filter next to it. */
struct cc__link {
    unsigned refs;    /* descriptors, and calls that wait on it */
    int hop;          /* where new links are announced */
    int control;      /* keeps the chain running while it is open */
    int other;        /* the filter's end while it is not yet announced; otherwise -1 */
    int domain;       /* of the listening socket: AF_INET or AF_INET6 */
    unsigned owed;    /* connections asked for and not yet received */
    unsigned waiting; /* calls that wait for one */
    bool ended;       /* the filter has ended; a new link is made when no call waits */
};

struct cc__slot {
    struct cc__conn *conn;
    struct cc__link *link;
};

/* An epoll registration of a link, or of a connection whose request is unread. */
struct cc__reg {
    int epfd, fd;
    struct epoll_event event;
    struct cc__reg *next;
};

extern pthread_mutex_t cc__lock;
extern struct cc__reg *cc__regs;

/* All of these need the lock. */
struct cc__conn *cc__conn_at(int fd);
struct cc__link *cc__link_at(int fd);
int cc__put(int fd, struct cc__conn *conn, struct cc__link *link); /* 0 or -ENOMEM */
int cc__slots(void);
bool cc__unread(const struct cc__conn *conn);
void cc__consumed(struct cc__conn *conn);

/* Ends what the table has at `fd`; the descriptor itself stays open. verdict: a lease's byte, or 0
 * for none. */
void cc__forget(int fd, char verdict);
void cc__release_link(struct cc__link *link);

/* Writes a byte to all leases of a connection. */
void cc__tell(const struct cc__conn *conn, char byte);

void cc__reg_remove(int epfd, int fd); /* epfd == -1: of every epoll instance */

/* Bytes of a lease. A connection may be kept if every holder wrote KEEP. */
enum { CC__KEEP = 'K', CC__CLOSE = 'C', CC__FORK = 'F', CC__UNFORK = 'U' };

/* Links. All need the lock. */
struct cc__link *cc__link_new(int hop, int control, int domain, int *fd);
int cc__link_attach(struct cc__link *link);          /* announces it if need be; 0 or -errno */
void cc__link_left(struct cc__link *link);           /* one call less waits on it */
void cc__link_demand(int fd, struct cc__link *link); /* asks for a connection unless one is owed */

/* Replaces a link whose filter has ended, and announces it if need be. Returns 0, -ERESTART when it
 * has waited and the link may be gone, or another -errno. */
int cc__link_ready(struct cc__link *link);

/* Called by tests at each step of cc_fork: 0 before, 1 counted, 2 in the child, 3 in the parent. */
extern void (*cc__fork_step)(int step);

#endif
