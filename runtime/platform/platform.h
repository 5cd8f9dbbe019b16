/* platform.h: what differs between systems, and small helpers that need only libc.
 *
 * Called by every part. Must not know sessions (except for the crash report), models or options. */
#ifndef NEST_PLATFORM_H
#define NEST_PLATFORM_H

#include "../seam.h"

#include <sys/socket.h>
#include <sys/types.h>

/* -- system.c ---------------------------------------------------------------------------------- */
/* The result, 0 or -errno, of a function that a child runs, so that this process stays as it is.
 * -EPERM: the child was killed. *began is false if there was no child. Called before there are
 * other children. */
int nest__try_in_child(int (*what)(void), bool *began);
uint64_t nest__clock_ns(void); /* monotonic */
uint64_t nest__clock_us(void); /* monotonic */
uint64_t nest__clock_ms(void); /* monotonic, no system call where the vdso has it */
/* The same clock, cheaper, but up to one kernel tick (10 ms) behind. */
uint64_t nest__clock_coarse_ms(void);
/* Opens /dev/null on descriptors 0, 1, 2 if they are closed, so that no connection gets their
 * numbers. Ignores SIGPIPE. main calls it first. Returns 0 or -errno. */
int nest__stdio_secure(void);
/* Makes the next close of this socket discard unsent data and reset the connection. */
void nest__reset_at_close(int fd);
/* Sends bytes of a file to a nonblocking socket. Same results as nest__send_file. */
int64_t nest__sendfile(int socket, int fd, uint64_t at, uint64_t n);
/* Whether a SIGHUP with this si_code means that the terminal was closed, which ends a server,
 * rather than a request to reload. False if SIGHUP was ignored at the start (nohup). Call it after
 * nest__stdio_secure. */
bool nest__hung_up(int code);
/* Raises the limit of descriptors to `most`, where `most` >= `need`, as far as the hard limit
 * allows. If that is less than `need`, reports that max_clients is too large. Returns 0 or -errno.
 */
int nest__descriptors_budget(uint64_t need, uint64_t most);
/* How many descriptors the hard limit allows in addition to `need`. */
uint64_t nest__descriptors_beyond(uint64_t need);
/* Checks the limits of processes and threads, if each client needs one (`each`: "process" or
 * "thread"). Reports a limit that is too low. Returns 0 or -EAGAIN. */
int nest__threads_budget(uint32_t tasks, const char *each);
/* Checks the limit of memory, in bytes, for all clients. `alone` is what they can use without the
 * help of an action; if it exceeds the limit, the result is an error. `most` is the largest
 * possible use; if it exceeds the limit, this is only reported. `processes`: the number of
 * processes that share this memory. The memory that the program needs without clients is small and
 * not counted. */
int nest__memory_budget(uint64_t alone, uint64_t most, uint32_t processes);
uint64_t nest__memory_most(void);                    /* of this machine, or of the control group */
void nest__memory_text(uint64_t bytes, char to[32]); /* "412M", rounded up */
/* Returns an array of `each` zeroed bytes per client of maxClients. The first caller allocates it,
 * and it is never freed. Pages use memory only after they are written. NULL: out of memory. */
void *nest__slab_make(_Atomic(void *) *, size_t each);
static inline void *nest__slab(_Atomic(void *) *slab, size_t each) {
    void *there = atomic_load_explicit(slab, memory_order_acquire);
    return there != NULL ? there : nest__slab_make(slab, each);
}
/* How many processors this process may use: at least 1. */
uint32_t nest__processors(void);
/* notify.c: for a process that watches a server and sleeps at most `timeout` ms at a time (-1: no
 * limit). Sends a watchdog message if it is due. Returns how long the process may sleep. */
int nest__beat(int timeout);
extern int nest__notify_relay; /* a supervised process sends messages to its supervisor through this
                                  descriptor; otherwise -1 */
/* What poll(2) reports of a descriptor until `end`, a time of nest__clock_ms, or at this moment; 0:
 * nothing. A signal that is pending makes even a poll that does not wait fail with EINTR, so it is
 * asked again. errno stays. Async-signal-safe. */
short nest__poll_until(int fd, short events, uint64_t end);
short nest__poll_now(int fd, short events);
/* Asks for `signal` when the parent process dies. Returns 0, or -ESRCH if it has already died. */
int nest__parent_watch(int signal, pid_t parent);
/* No new TCP connection begins on a listening socket; those that are being made are completed.
 * Where the system cannot, nothing happens. */
void nest__connections_refuse(int fd);
/* -- address.c: async-signal-safe -------------------------------------------------------------- */
enum { NEST__ADDRESS_TEXT = 128 };
/* "192.0.2.1:4711", "[2001:db8::1]:4711" (RFC 5952), "unix". */
void nest__address_text(const struct sockaddr *, char *to, size_t size);
/* -- text.c: bounded text, async-signal-safe --------------------------------------------------- */
struct nest__line { /* text beyond `size` is omitted; no NUL is written */
    char *p;
    size_t n, size;
};
void nest__line_add(struct nest__line *, const char *text);
void nest__line_bytes(struct nest__line *, const void *, size_t);
void nest__line_char(struct nest__line *, char);
void nest__line_number(struct nest__line *, uint64_t);
/* The length of the UTF-8 sequence at the start of n > 0 bytes, and its code point; 0: there is no
 * valid one. Overlong forms, surrogates and numbers above U+10FFFF are not valid. */
size_t nest__utf8(const void *, size_t n, uint32_t *);
/* Whether a terminal or a log viewer shows the code point, and shows it where it stands. */
bool nest__shows(uint32_t point);
/* Text from a client, at most NEST__ESCAPED characters a byte. A backslash becomes "\\", CR, LF and
 * TAB become "\r", "\n" and "\t"; other controls, also those of C1 and of bidirectional text, line
 * separators and bytes that are not UTF-8 become "\xhh", a byte each. So the line shows which bytes
 * came, and none of them reaches a terminal as a control. */
enum { NEST__ESCAPED = 4 };
void nest__line_text(struct nest__line *, const void *, size_t);
/* The same in quotes, in ASCII alone, as traces and scripts have it. */
void nest__line_quote(struct nest__line *, const void *, size_t);
/* The reason in one word: "closed", "eof", …; "crash" for NEST_OPEN, because only a crash ends a
 * connection without a reason. */
const char *nest__reason_word(enum nest_reason);
/* -- log.c ------------------------------------------------------------------------------------- */
/* Writes one line "NAME: text" to stderr in one write; newlines in the text become "\n". */
void nest__say(const char *format, ...) NEST_FORMAT(1, 2);
extern _Thread_local bool nest__muted; /* nest__say says nothing on this thread */
/* Writes all, waiting if it must, or gives up at the first error. Async-signal-safe. */
void nest__write(int fd, const void *, size_t);
/* Writes a line of at most PIPE_BUF bytes, or drops it if the write would wait: a log reader that
 * does not read must not stop the server. Returns false if the line was dropped. */
bool nest__tell(int fd, const void *, size_t);
/* In place of stderr for lines of nest__say, nest_log and crash reports, with the same result;
 * NULL: none. Async-signal-safe. */
extern bool (*nest__log_put)(const void *line, size_t n);
/* A line for the system log: "<PRI>NAME[PID]: text" with the facility `daemon` (RFC 3164).
 * Async-signal-safe, as is nest__line_bare. */
enum {
    NEST__SYSLOG_ERROR = 3,
    NEST__SYSLOG_WARN,
    NEST__SYSLOG_NOTICE,
    NEST__SYSLOG_INFO,
    NEST__SYSLOG_DEBUG
};
void nest__line_syslog(struct nest__line *, unsigned severity, pid_t, const char *text, size_t n);
/* The text of a line without "NAME: ", which system logs add themselves, and without its newline.
 */
const char *nest__line_bare(const char *text, size_t *n);
/* From now on, sends log lines to the system log, if there is one, because stderr belongs to a
 * client. */
void nest__syslog(void);
bool nest__syslogs(void);
void nest__line_time(struct nest__line *); /* "2020-02-29T14:38:26.123Z" */
/* -- crash.c ----------------------------------------------------------------------------------- */
/* Reports SEGV, BUS, ILL, FPE, ABRT and TRAP in one line and then lets them end the process;
 * reports an action that calls exit in the same way. Once in a process. `who`
 * ("worker", "server") and `consequence` ("only this client is lost") must be constant texts. */
void nest__crash_install(const char *who, const char *consequence);
/* Writes that line: the process, `what` and `detail`, then where this thread is. Async-signal-safe.
 */
void nest__crash_tell(const char *what, const char *detail);
/* Writes that line and ends the process as a crash does. The core, if the system writes one, shows
 * where this thread is. */
_Noreturn void nest__crash_end(const char *what, const char *detail);
/* From now on (false: no longer), the calling thread must not end, as by pthread_exit in an action:
 * that ends the process as a crash does. */
void nest__crash_keep_thread(bool on);
/* Sets an alternate signal stack for the calling thread, so that a stack overflow can be reported.
 * The thread must call nest__crash_leave before it ends. */
void nest__crash_enter(void);
void nest__crash_leave(void);
/* Called by generated code when rules are active together although the compiler has proved that
 * they cannot be. */
_Noreturn void nest__unforeseen(void);
/* Called where a descriptor that the process cannot do without has been closed, as by close in an
 * action: it ends as in a crash, and the supervisor makes another. */
_Noreturn void nest__closed_under(void);

#endif
