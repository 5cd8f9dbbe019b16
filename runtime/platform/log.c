/* log.c: log lines on stderr, one write per line.
 *
 * Called by every part that reports something, and by actions ($log). State, per process: whether
 * the lines go to the system log instead. Texts are escaped, so that a client can neither forge a
 * line nor control a terminal. A stderr that is closed or full never stops the server. */
#include "platform.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    LOG_TEXT = 1000,
    LOG_LINE = 4096, /* PIPE_BUF: written atomically */
    LOG_DAEMON = 3   /* facility */
};

_Thread_local bool nest__muted;
bool (*nest__log_put)(const void *line, size_t n);
static int log_system = -1; /* a socket, in place of stderr */

void nest__write(int fd, const void *bytes, size_t n) {
    const char *p = bytes;
    int saved = errno;
    while (n > 0) {
        ssize_t written = write(fd, p, n);
        if (written == -1 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            break;
        }
        p += written;
        n -= (size_t)written;
    }
    errno = saved;
}

/* syslog(3) is not async-signal-safe, but crashes are reported from a signal handler. */
void nest__syslog(void) {
    if (log_system == -1) {
        log_system = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    }
}

bool nest__syslogs(void) {
    return log_system != -1;
}

const char *nest__line_bare(const char *text, size_t *n) {
    size_t name = strlen(nest__spec_name);
    *n -= *n > 0 && text[*n - 1] == '\n';
    if (*n > name + 2 && memcmp(text, nest__spec_name, name) == 0 && text[name] == ':') {
        *n -= name + 2;
        return text + name + 2;
    }
    return text;
}

void nest__line_syslog(struct nest__line *line, unsigned severity, pid_t pid, const char *text,
                       size_t n) {
    nest__line_char(line, '<');
    nest__line_number(line, LOG_DAEMON * 8 + severity);
    nest__line_char(line, '>');
    nest__line_add(line, nest__spec_name);
    nest__line_char(line, '[');
    nest__line_number(line, (uint64_t)pid);
    nest__line_add(line, "]: ");
    nest__line_bytes(line, text, n);
}

static bool log_syslog(const char *bytes, size_t n) {
    struct sockaddr_un log = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
    char text[LOG_LINE];
    struct nest__line line = {text, 0, sizeof text};
    bytes = nest__line_bare(bytes, &n);
    nest__line_syslog(&line, NEST__SYSLOG_INFO, getpid(), bytes, n);
    return sendto(log_system, text, line.n, MSG_NOSIGNAL, (struct sockaddr *)(void *)&log,
                  sizeof log) != -1;
}

bool nest__tell(int fd, const void *bytes, size_t n) {
    int saved = errno;
    bool told = false;
    if (fd == STDERR_FILENO && log_system != -1) {
        told = log_syslog(bytes, n);
    } else if (fd == STDERR_FILENO && nest__log_put != NULL) {
        told = nest__log_put(bytes, n);
    } else if (nest__poll_now(fd, POLLOUT) != 0) {
        nest__write(fd, bytes, n);
        told = true;
    }
    errno = saved;
    return told;
}

/* Appends formatted text, escaped. A text that is too long ends in "...". */
static void log_format(struct nest__line *line, const char *format, va_list arguments) {
    char text[LOG_TEXT];
    int n = vsnprintf(text, sizeof text, format, arguments);
    if (n < 0) {
        nest_strlcpy(text, "(a text that cannot be formatted)", sizeof text);
    }
    nest__line_text(line, text, strlen(text));
    if (n >= (int)sizeof text) {
        nest__line_add(line, "...");
    }
}

static void log_emit(struct nest__line *line) {
    line->p[line->n] = '\n'; /* the buffer has one byte more than line->size */
    nest__tell(STDERR_FILENO, line->p, line->n + 1);
}

void nest__say(const char *format, ...) {
    char buffer[LOG_LINE];
    struct nest__line line = {buffer, 0, sizeof buffer - 1};
    va_list arguments;
    if (nest__muted) {
        return;
    }
    va_start(arguments, format);
    nest__line_add(&line, nest__spec_name);
    nest__line_add(&line, ": ");
    log_format(&line, format, arguments);
    va_end(arguments);
    log_emit(&line);
}

/* UTC, so that lines of several machines can be sorted as text. */
void nest__line_time(struct nest__line *line) {
    static _Thread_local struct {
        time_t second;
        char text[32]; /* of this second; "": none yet */
    } stamp;
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    if ((now.tv_sec != stamp.second || stamp.text[0] == '\0') &&
        gmtime_r(&now.tv_sec, &utc) != NULL) {
        (void)strftime(stamp.text, sizeof stamp.text, "%Y-%m-%dT%H:%M:%S", &utc);
        stamp.second = now.tv_sec;
    }
    unsigned ms = (unsigned)(now.tv_nsec / 1000000) % 1000;
    nest__line_add(line, stamp.text);
    nest__line_char(line, '.');
    for (unsigned unit = 100; unit > 0; unit /= 10) {
        nest__line_char(line, (char)('0' + ms / unit % 10));
    }
    nest__line_char(line, 'Z');
}

void nest_log(nest_session *s, enum nest_level level, const char *format, ...) {
    static const char *const names[] = {"error", "warn", "info", "debug"};
    char buffer[LOG_LINE];
    struct nest__line line = {buffer, 0, sizeof buffer - 1};
    va_list arguments;
    int saved = errno;
    nest__line_time(&line);
    nest__line_char(&line, ' ');
    nest__line_add(&line, (unsigned)level <= NEST_DEBUG ? names[level] : "info");
    nest__line_char(&line, ' ');
    if (s != NULL) {
        nest__line_number(&line, nest_id(s));
        nest__line_char(&line, ' ');
    }
    errno = saved; /* %m */
    va_start(arguments, format);
    log_format(&line, format, arguments);
    va_end(arguments);
    log_emit(&line);
    errno = saved;
}
