/* The parts of cc-condition, which puts filters in front of a server that knows nothing of them. */
#ifndef CC_CONDITION_H
#define CC_CONDITION_H

#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "wire.h"

enum { WRONG_CALL = 2, UNAVAILABLE = 69, NOT_EXECUTABLE = 126, NOT_FOUND = 127, MOST_FILTERS = 16 };

/* main.c: what the command line says. */
extern char *filters[MOST_FILTERS + 1]; /* ends with NULL */
extern bool options;                    /* getsockname and the like are answered, too */
extern bool by_preload;                 /* a library in the server, no held calls */
extern bool checking;                   /* --check: a trial without filters */
extern const char *state;               /* the socket that shows counters, or NULL */
extern long wait_seconds;               /* until it is said that the server does not listen */
extern int server_status;               /* as of waitpid; -1 while it runs */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* chain.c: the processes of cc-chain. */
extern pid_t chain;
int judge(void);               /* cc-chain judges the filters; 0 or the exit status */
int ask(const char *command);  /* asks the chain at `state`; the exit status */
int change(void);              /* the chain at `state` gets `filters`; the exit status */
int start_chain(void);         /* its socket, or -1 with errno */
void end_chain(void);          /* waits until it has ended, and its sockets are free */
bool chain_ready(int control); /* false: it has ended, and has said why */

/* start.c: the other processes of the launcher. */
extern pid_t server, guard_process;
extern sigset_t signals_before;                          /* what the processes do not catch */
void libexec(const char *name, char *path, size_t room); /* where a file of this package is */
/* Both return -errno after a message; the server's process is there then, if it could be made. */
int start_preloaded(char **command); /* with the library; its socket */
int start_server(char **command);    /* the descriptor of its held calls */
int stop_server(void);               /* ends its process group by TERM, then KILL; its status */
bool start_guard(void);              /* ends the server if the launcher is killed */
/* Sends a signal to all processes of the server: to its process group, and to those without parents
 * that have left the group, which are children of this process. */
void end_server(int number);
void end_guard(void); /* nothing is left to end */

/* refuse.c: whether something cannot work; these say why. */
bool refuse_state(void);                  /* its socket; removes one that nobody uses */
void remove_state(void);                  /* the socket of a chain of ours that has died */
bool refuse_inherited(void);              /* sockets that listen already */
bool refuse_library(const char *program); /* it would not load the library */

/* run.c: what happens while the server runs. */
/* Returns when no process of the server is left. false: it was ended, because filters could not be
 * put in front of it. */
bool run(int signals, const char *name);
enum { END_TEXT = 64 };
void end_text(char text[END_TEXT]); /* how the server's first process ended */
void say_unheard(const char *name); /* if the server has ended before it listened, and nobody asked
                                       it to, or said why */
uint64_t now_ms(void);

/* gate.c: what stands in the place of a listening socket of the server. */
struct gate;
struct tail;
extern struct gate *gates;                /* the newest one first */
struct gate *gate_new(int real, int *fd); /* owns `real`; `fd` is for the server; NULL: errno */
void gate_free(struct gate *gate);        /* one that the server has not seen */
struct gate *gate_for(int real, int *fd); /* the one that stands for a socket already, or NULL */
struct gate *gate_next(const struct gate *gate);
bool gate_has(ino_t real);                  /* whether one stands for this socket */
int gate_real(const struct gate *gate);     /* its listening socket */
ino_t inode_of(pid_t thread, int fd);       /* of the socket that a thread's descriptor is, or 0 */
struct gate *gate_of(pid_t thread, int fd); /* the one that a thread's descriptor is, or NULL */
size_t gate_count(const struct gate *gate); /* connections that wait in it */
size_t gate_room(const struct gate *gate);  /* for more of them */
/* Owns `fd`; the gate is not full. `tail` is told when the server has it; NULL: --check is. */
void gate_put(struct gate *gate, int fd, const struct cc__address *from, struct tail *tail);
void gate_serve(struct gate *gate); /* answers calls that wait for connections */
void gate_accept(struct gate *gate, const struct seccomp_notif *call);

/* tail.c: where the connections of gates come from. */
extern long tail_ready; /* most connections of a tail that wait for accept */
/* Both return 0 or -errno; -EPIPE: the chain has died. */
int tail_chain(int control);            /* all gates get filters of this chain */
int tail_new(struct gate *gate);        /* gets filters */
void tail_end(void);                    /* tells the chain that the server has ended */
void tail_delivered(struct tail *tail); /* the server has a connection */
size_t tail_count(void);
bool tail_polls(struct pollfd *polls);        /* `tail_count` of them; whether to try again soon */
void tail_events(const struct pollfd *polls); /* those that tail_polls filled in */

/* follow.c: when the server has finished with connections. */
extern int follow_fd;       /* events of the kernel; -1: none are wanted */
bool follow_possible(void); /* whether this kernel tells */
void follow_event(void);
void follow(int client, const int *leases, int count); /* owns the leases */

/* push.c: --by preload. */
extern int push_fd;                    /* the socket of the library */
bool push_event(void);                 /* it asks; false: no process has it any more */
bool push_polls(struct pollfd *polls); /* one for each gate; whether connections wait in one */
void push_all(void);                   /* sends what waits, and notices what was received */
void push(struct gate *gate);

/* check.c: what the server's calls say about it (--check). */
void check_call(const struct seccomp_notif *call);                /* before it is answered */
void check_listens(struct gate *gate, pid_t thread, ino_t inode); /* of the socket before */
void check_delivered(const struct gate *gate, int number);        /* by this call */
void check_run(int signals);                                      /* starts and ends nothing else */
int check_report(const char *name); /* 0, or UNAVAILABLE after a message */

/* look.c: what /proc says about processes. */
bool look_program(pid_t process, char *path, size_t room);
bool look_static(const char *program); /* whether it loads no shared libraries */
/* The port of a socket of a process, or of one below it, that is UDP, or listens without a gate; 0:
 * there is none. */
unsigned look_sockets(pid_t process, bool datagrams);
void look_address(const struct sockaddr_storage *address, char *text, size_t room);

/* memory.c: the memory of a thread of the server. */
bool memory_get(const struct seccomp_notif *call, uint64_t from, void *to, size_t size);
bool memory_put(const struct seccomp_notif *call, uint64_t to, const void *from, size_t size);
/* As a call that returns an address does: `size` bytes of `from`, cut to the caller's room. */
bool memory_put_sized(const struct seccomp_notif *call, uint64_t to, uint64_t length,
                      const void *from, unsigned size);

/* options.c: getsockname, getsockopt and setsockopt on a gate, as on its listening socket. Returns
 * 0 or an errno. */
int options_answer(const struct seccomp_notif *call, int real);

/* trap.c: the calls of the server that the kernel holds until they are answered. */
extern int trap_fd;
extern bool listen_refused;     /* a server that would have had no filters; a message says why */
const char *trap_missing(void); /* the reason why calls cannot be held here, or NULL */
int trap_install(void);         /* in the server's process; the descriptor or -errno */
void trap_start(int fd);        /* in the launcher */
int trap_copy(pid_t thread, int fd); /* of a descriptor of the server, or -1 */
void trap_event(void);               /* a call is there */
void trap_answer(uint64_t id, int error);
int trap_give(const struct seccomp_notif *call, int fd); /* as what accept returns; 0 or -errno */

#endif
