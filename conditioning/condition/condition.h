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

enum { WRONG_CALL = 2, UNAVAILABLE = 69, NOT_FOUND = 127, MOST_FILTERS = 16 };

/* start.c: the processes of the launcher. */
extern char *filters[MOST_FILTERS + 1]; /* ends with NULL */
extern bool options;                    /* trap_install's */
extern pid_t server, chain;
extern sigset_t signals_before;     /* what the processes do not catch */
int judge(void);                    /* cc-chain judges the filters; 0 or the exit status */
int start_chain(const char *state); /* its socket, or -1 with errno */
int start_server(char **command);   /* the descriptor of its held calls, or -errno */
bool start_guard(int *guard);       /* a byte written to `guard` ends it */

/* gate.c: what stands in the place of a listening socket of the server. */
struct gate;
extern struct gate *gates;
extern long gate_ready;                     /* most connections that wait for accept */
int gate_new(int chain, int real, int *fd); /* takes `real`; `fd` is for the server; or -errno */
int gate_real(const struct gate *gate);     /* its listening socket */
struct gate *gate_of(pid_t thread, int fd); /* the one that a thread's descriptor is, or NULL */
size_t gate_polls(struct pollfd *polls, size_t room);
void gate_events(const struct pollfd *polls, size_t count); /* those that gate_polls filled in */
void gate_accept(struct gate *gate, const struct seccomp_notif *call);

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
const char *trap_missing(void);     /* the reason why calls cannot be held here, or NULL */
int trap_install(bool options);     /* in the server's process; the descriptor or -errno */
void trap_start(int fd, int chain); /* in the launcher */
void trap_event(void);              /* a call is there */
void trap_answer(uint64_t id, int error);
int trap_give(const struct seccomp_notif *call, int fd); /* as what accept returns; 0 or -errno */

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
