/* trace.c: writes
 *
 *   ID open
 *   ID take NAME "bytes"
 *   ID timeout NAME
 *   ID reply "bytes"
 *   ID states A B last=B
 *   ID end closed
 *
 * to the descriptor NEST_TRACE_FD, or the file NEST_TRACE, or stderr. State: the descriptor, which
 * the threads of a process share. Each line is written by one call to a file that is open for
 * appending, so the lines of processes and threads do not mix. Must not know which model runs it.
 */
#include "trace.h"
#include "../../platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRACE_HEAD = 512 };

/* scope: process, shared by its threads; set once. */
static _Atomic int trace_fd = -1;

static int trace_open(void) {
    int fd = atomic_load(&trace_fd), none = -1;
    const char *number = getenv("NEST_TRACE_FD"), *path = getenv("NEST_TRACE");
    if (fd != -1) {
        return fd;
    }
    fd = STDERR_FILENO;
    if (number != NULL) {
        char *end;
        long value = strtol(number, &end, 10);
        if (end != number && *end == '\0' && value >= 0 && fcntl((int)value, F_GETFD) != -1) {
            fd = (int)value;
        } else {
            nest__say("NEST_TRACE_FD: '%.20s' is not an open descriptor; tracing to stderr",
                      number);
        }
    } else if (path != NULL) {
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (fd == -1) {
            nest__say("NEST_TRACE: cannot open %.200s: %s; tracing to stderr", path,
                      strerror(errno));
            fd = STDERR_FILENO;
        }
    }
    if (!atomic_compare_exchange_strong(&trace_fd, &none, fd)) {
        if (number == NULL && path != NULL && fd != STDERR_FILENO) {
            close(fd); /* another thread was first */
        }
        fd = none;
    }
    return fd;
}

/* Writes "ID what", then the name and the quoted bytes; NULL: the line has no name, or no bytes. */
static void trace_line(nest_session *s, const char *what, const char *name, const void *bytes,
                       size_t n) {
    char head[TRACE_HEAD];
    size_t room = TRACE_HEAD + (name != NULL ? strlen(name) : 0) + n * NEST__ESCAPED;
    char *whole = room > TRACE_HEAD ? malloc(room) : NULL;
    struct nest__line line = {head, 0, sizeof head - 1};
    if (whole != NULL) {
        line.p = whole;
        line.size = room - 1;
    }
    nest__line_number(&line, nest_id(s));
    nest__line_char(&line, ' ');
    nest__line_add(&line, what);
    if (name != NULL) {
        nest__line_char(&line, ' ');
        nest__line_add(&line, name);
    }
    if (room > TRACE_HEAD && whole == NULL) {
        nest__line_add(&line, " (no memory to show it)");
    } else if (bytes != NULL) {
        nest__line_char(&line, ' ');
        nest__line_quote(&line, bytes, n);
    }
    line.p[line.n] = '\n';
    nest__write(trace_open(), line.p, line.n + 1);
    free(whole);
}

void nest__trace_open(nest_session *s) {
    trace_line(s, "open", NULL, NULL, 0);
}

void nest__trace_take(nest_session *s, const struct nest__rule *rule, const void *bytes, size_t n) {
    trace_line(s, "take", rule->name, bytes, n);
}

void nest__trace_timer(nest_session *s, const struct nest__timer *timer) {
    trace_line(s, "timeout", timer->name, NULL, 0);
}

void nest__trace_reply(nest_session *s, const void *bytes, size_t n) {
    trace_line(s, "reply", NULL, bytes, n);
}

/* Traces the bytes of a file like those of a reply. If the file has shrunk, there are fewer. */
void nest__trace_file(nest_session *s, int fd, uint64_t at, uint64_t n) {
    char bytes[4096];
    while (n > 0) {
        ssize_t got = pread(fd, bytes, n < sizeof bytes ? (size_t)n : sizeof bytes, (off_t)at);
        if (got <= 0) {
            return;
        }
        nest__trace_reply(s, bytes, (size_t)got);
        at += (uint64_t)got;
        n -= (uint64_t)got;
    }
}

void nest__trace_states(nest_session *s) {
    char names[4096]; /* 64 states; longer names are cut */
    struct nest__line line = {names, 0, sizeof names - 1};
    for (unsigned state = 0; state < nest__state_count; state++) {
        if (nest_isset(s, state)) {
            nest__line_add(&line, nest__state_names[state]);
            nest__line_char(&line, ' ');
        }
    }
    unsigned last = nest_lastseen(s);
    nest__line_add(&line, "last=");
    nest__line_add(&line, last < nest__state_count ? nest__state_names[last] : "-");
    names[line.n] = '\0';
    trace_line(s, "states", names, NULL, 0);
}

void nest__trace_end(nest_session *s) {
    trace_line(s, "end", nest__reason_word(nest_reason(s)), NULL, 0);
}
