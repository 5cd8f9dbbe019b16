/* platform.h: what differs between systems, and small services that need nothing but libc.
 *
 * Called by every part. Knows no session but for the report of a crash, no model, no option. */
#ifndef NEST_PLATFORM_H
#define NEST_PLATFORM_H

#include "../seam.h"

#include <sys/socket.h>
#include <sys/types.h>

/* -- system.c ---------------------------------------------------------------------------------- */
uint64_t nest__clock_us(void); /* monotonic */
uint64_t nest__clock_ms(void); /* monotonic, no system call where the vdso has it */
/* The same clock, cheaper, behind it by a tick of the system at most (10 ms). */
uint64_t nest__clock_coarse_ms(void);
/* Opens /dev/null on 0, 1, 2 where they are closed, so that no connection gets their numbers;
 * ignores SIGPIPE. First thing in main. 0 or -errno. */
int nest__stdio_secure(void);
/* A socket is about to be closed: the system keeps nothing to deliver, the client sees a reset. */
void nest__reset_at_close(int fd);
/* Bytes of a file go to a socket that does not wait (O_NONBLOCK). As nest__send_file. */
int64_t nest__sendfile(int socket, int fd, uint64_t at, uint64_t n);
/* Whether a HUP with this si_code says that the terminal is gone, which ends a server, and not that
 * somebody asks for a reload. False where it is not to be heard (nohup). After nest__stdio_secure.
 */
bool nest__hung_up(int code);
/* Makes room for `most` >= `need` descriptors, as far as the hard limit allows; says on stderr that
 * max_clients cannot fit if that is less than `need`. 0 or -errno. */
int nest__descriptors_budget(uint64_t need, uint64_t most);
/* How many more than `need` the hard limit allows. */
uint64_t nest__descriptors_beyond(uint64_t need);
/* The same for one process a client. */
int nest__processes_budget(void);
/* The same for memory in bytes, of all clients: what they need without an action's doing, and the
 * `most`, which may be more than there is, and is then said. `processes`: that they are spread
 * over. What the program has without them is little. */
int nest__memory_budget(uint64_t alone, uint64_t most, uint32_t processes);
void nest__memory_text(uint64_t bytes, char to[32]); /* "412M": rounded up */
/* `each` zeroed bytes for each of maxClients, made by whoever asks first and never freed; they take
 * memory only as far as they are used. NULL: there is none. */
void *nest__slab(_Atomic(void *) *, size_t each);
/* notify.c: for who minds a server and sleeps in between, at most `timeout` ms (-1: no limit): says
 * that it lives if that is due; how long it may sleep. */
int nest__beat(int timeout);
extern int nest__notify_relay; /* a supervised process says it to its supervisor; else -1 */
/* Asks for `signal` when the parent dies. 0; -ESRCH: it has died already. */
int nest__parent_watch(int signal, pid_t parent);
/* No new TCP connection begins on a listening socket; those that are being made are completed.
 * Where the system cannot, nothing happens. */
void nest__connections_refuse(int fd);
/* -- address.c: async-signal-safe -------------------------------------------------------------- */
enum { NEST__ADDRESS_TEXT = 128 };
/* "192.0.2.1:4711", "[2001:db8::1]:4711" (RFC 5952), "unix". */
void nest__address_text(const struct sockaddr *, char *to, size_t size);
/* -- text.c: bounded text, async-signal-safe --------------------------------------------------- */
struct nest__line { /* what does not fit is left out; no NUL */
    char *p;
    size_t n, size;
};
void nest__line_add(struct nest__line *, const char *text);
void nest__line_char(struct nest__line *, char);
void nest__line_number(struct nest__line *, uint64_t);
/* "closed", "eof", …, in a word; "crash" for NEST_OPEN, which nobody else can have ended as. */
const char *nest__reason_word(enum nest_reason);
/* -- log.c ------------------------------------------------------------------------------------- */
/* One line on stderr, "NAME: text", in one write; newlines inside become "\n". For operators. */
void nest__say(const char *format, ...) NEST_FORMAT(1, 2);
extern _Thread_local bool nest__muted; /* nest__say says nothing on this thread */
/* Writes all, waiting if it must, or gives up at the first error. Async-signal-safe. */
void nest__write(int fd, const void *, size_t);
/* The same for a line of at most PIPE_BUF bytes, but drops it rather than wait: a reader that has
 * stopped reading stops no server. False: dropped. */
bool nest__tell(int fd, const void *, size_t);
/* From here on what is told on stderr goes to the system's log, if there is one: stderr is a
 * client's. */
void nest__syslog(void);
bool nest__syslogs(void);
void nest__line_time(struct nest__line *); /* "2020-02-29T14:38:26.123Z" */
/* -- crash.c ----------------------------------------------------------------------------------- */
/* Reports SEGV, BUS, ILL, FPE, ABRT and TRAP in one line, then lets them end the process. Constant
 * texts: `who` ("worker", "server"), `consequence` ("only this client is lost"). */
void nest__crash_install(const char *who, const char *consequence);
/* An alternate stack for the calling thread, so that a stack overflow can be reported too. The
 * thread calls nest__crash_leave before it ends. */
void nest__crash_enter(void);
void nest__crash_leave(void);
/* For what is generated: rules are active together that the compiler has proved never to be. */
_Noreturn void nest__unforeseen(void);

#endif
