/* target.c: what a log line is written to: stderr, a file, the system log, systemd's journal.
 *
 * Called by sink.c, which opens targets, and by drain.c, which writes to them. State: lines that
 * are kept until a flush; whether a write has failed. A target that fails never stops anybody: its
 * lines are counted as lost, and its first failure is told on stderr. */
#include "../../platform/platform.h"
#include "../../workers/supervisor.h"
#include "sinks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

enum { TARGET_KEPT = 64 * 1024, TARGET_MODE = 0640, TARGET_DATAGRAM = NEST__SINK_RECORD + 256 };

static const char *const target_sockets[] = {
    [NEST__SINK_SYSLOG] = "/dev/log", [NEST__SINK_JOURNAL] = "/run/systemd/journal/socket"};

/* scope: process */
static struct {
    size_t n;
    bool begun;  /* the first line of `kept` has been written in part */
    bool failed; /* this has been told */
    char kept[TARGET_KEPT];
} target_states[NEST__SINK_STREAMS];
/* scope: process; until when a target that takes nothing is waited for, ms */
static uint64_t target_until;

/* -- opening -------------------------------------------------------------------------------------
 */

static int target_connect(int fd, enum nest__sink_kind kind) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    nest_strlcpy(address.sun_path, target_sockets[kind], sizeof address.sun_path);
    return connect(fd, (struct sockaddr *)(void *)&address, sizeof address) == -1 ? -errno : 0;
}

static int target_socket(enum nest__sink_kind kind, int *fd) {
    *fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (*fd == -1) {
        return -errno;
    }
    int error = target_connect(*fd, kind);
    if (error != 0) {
        close(*fd);
    }
    return error;
}

int nest__sink_open(int home, const char *where, struct nest__sink_target *to) {
    if (strcmp(where, "stderr") == 0) {
        *to = (struct nest__sink_target){NEST__SINK_STDERR, STDERR_FILENO};
        return 0;
    }
    int fd, error;
    enum nest__sink_kind kind = strcmp(where, "syslog") == 0    ? NEST__SINK_SYSLOG
                                : strcmp(where, "journal") == 0 ? NEST__SINK_JOURNAL
                                                                : NEST__SINK_FILE;
    if (kind != NEST__SINK_FILE) {
        error = target_socket(kind, &fd);
    } else { /* nonblocking, for a named pipe that nobody reads */
        fd = openat(home, where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                    TARGET_MODE);
        error = fd == -1 ? -errno : 0;
    }
    if (error == 0) {
        *to = (struct nest__sink_target){kind, fd};
    }
    return error;
}

void nest__sink_leave(struct nest__sink_targets *targets) {
    for (int i = 0; i < NEST__SINK_STREAMS; i++) {
        if (targets->of[i].kind != NEST__SINK_STDERR) {
            close(targets->of[i].fd);
        }
        target_states[i].n = 0;
        target_states[i].begun = target_states[i].failed = false;
    }
}

/* -- writing -------------------------------------------------------------------------------------
 */

/* Whether it takes more, within the time that is left. */
static bool target_takes(int fd) {
    return nest__poll_until(fd, POLLOUT, target_until) != 0;
}

/* `last`: nobody would learn more from it. */
static void target_failed(enum nest__sink_stream stream, unsigned lines, bool last) {
    nest__sink_drop(lines);
    if (!target_states[stream].failed && !last) {
        char text[256];
        struct nest__line line = {text, 0, sizeof text - 1};
        target_states[stream].failed = true;
        nest__line_add(&line, nest__spec_name);
        nest__line_add(&line, stream == NEST__SINK_OF_ACCESS ? ": accessLog " : ": errorLog ");
        nest__line_add(&line, "cannot be written: ");
        nest__line_add(&line, strerror(errno));
        nest__line_char(&line, '\n');
        if (target_takes(STDERR_FILENO)) {
            nest__write(STDERR_FILENO, text, line.n);
        }
    }
}

static unsigned target_lines(const char *p, const char *end) {
    unsigned lines = 0;
    for (; (p = memchr(p, '\n', (size_t)(end - p))) != NULL && ++p <= end; lines++) {
    }
    return lines;
}

/* Nothing more can be written. The rest of a line that was begun stays, so that a later write
 * completes it, unless this was the last one; other lines are lost. Returns how many. */
static unsigned target_give_up(enum nest__sink_stream stream, const char *p, bool last) {
    const char *begin = target_states[stream].kept, *end = begin + target_states[stream].n;
    const char *rest = p;
    target_states[stream].begun = p > begin ? p[-1] != '\n' : target_states[stream].begun;
    if (target_states[stream].begun && !last) {
        rest = memchr(p, '\n', (size_t)(end - p));
        rest = rest == NULL ? end : rest + 1;
    }
    unsigned lost = target_lines(rest, end);
    target_failed(stream, lost, last);
    target_states[stream].n = (size_t)(rest - p);
    memmove(target_states[stream].kept, p, target_states[stream].n);
    return lost;
}

/* Writes what is kept. Returns how many lines were lost. */
static unsigned target_flush(const struct nest__sink_targets *targets,
                             enum nest__sink_stream stream, bool last) {
    const struct nest__sink_target *target = &targets->of[stream];
    const char *p = target_states[stream].kept, *end = p + target_states[stream].n;
    bool blocks = target->kind == NEST__SINK_STDERR; /* a pipe that is ready takes PIPE_BUF bytes */
    while (p < end) {
        size_t n = (size_t)(end - p);
        errno = EAGAIN;
        n = blocks && n > PIPE_BUF ? PIPE_BUF : n;
        ssize_t written = blocks && !target_takes(target->fd) ? -1 : write(target->fd, p, n);
        if (written == -1 &&
            (errno == EINTR || (!blocks && errno == EAGAIN && target_takes(target->fd)))) {
            continue;
        }
        if (written <= 0) {
            return target_give_up(stream, p, last);
        }
        p += written;
    }
    if (target_states[stream].n > 0) {
        target_states[stream].begun = target_states[stream].failed = false;
        target_states[stream].n = 0;
    }
    return 0;
}

unsigned nest__sink_flush(const struct nest__sink_targets *targets, bool last) {
    unsigned lost = 0;
    for (int stream = 0; stream < NEST__SINK_STREAMS; stream++) {
        lost += target_flush(targets, (enum nest__sink_stream)stream, last);
    }
    return lost;
}

void nest__sink_allow(unsigned ms) {
    target_until = nest__clock_ms() + ms;
}

/* Of "TIME LEVEL …"; lines that do not begin so are the server's own. */
static unsigned target_severity(const char *text, size_t n) {
    static const struct {
        const char *word;
        unsigned severity;
    } levels[] = {{" error ", NEST__SYSLOG_ERROR},
                  {" warn ", NEST__SYSLOG_WARN},
                  {" info ", NEST__SYSLOG_INFO},
                  {" debug ", NEST__SYSLOG_DEBUG}};
    const char *word = memchr(text, ' ', n);
    size_t left = word == NULL ? 0 : n - (size_t)(word - text);
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        size_t length = strlen(levels[i].word);
        if (left >= length && memcmp(word, levels[i].word, length) == 0) {
            return levels[i].severity;
        }
    }
    return NEST__SYSLOG_NOTICE;
}

/* The native protocol of systemd-journald: a line NAME=value for each field. */
static void target_journal(struct nest__line *line, unsigned severity, const char *text, size_t n,
                           bool fields) {
    nest__line_add(line, fields ? "" : "MESSAGE=");
    nest__line_bytes(line, text, n);
    nest__line_add(line, "\nPRIORITY=");
    nest__line_number(line, severity);
    nest__line_add(line, "\nSYSLOG_IDENTIFIER=");
    nest__line_add(line, nest__spec_name);
    nest__line_add(line, "\nSYSLOG_PID=");
    nest__line_number(line, (uint64_t)nest__supervisor());
    nest__line_char(line, '\n');
}

static bool target_datagram(int fd, const char *bytes, size_t n) {
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    return send(fd, bytes, n, flags) != -1 ||
           (errno == EAGAIN && target_takes(fd) && send(fd, bytes, n, flags) != -1);
}

/* A logger that was restarted has a new socket. Returns how many lines were lost. */
static unsigned target_send(const struct nest__sink_target *target, enum nest__sink_stream stream,
                            const char *bytes, size_t n) {
    bool sent = target_datagram(target->fd, bytes, n);
    if (!sent && (errno == ECONNREFUSED || errno == ENOTCONN || errno == ECONNRESET)) {
        sent =
            target_connect(target->fd, target->kind) == 0 && target_datagram(target->fd, bytes, n);
    }
    if (sent) {
        target_states[stream].failed = false;
    } else {
        target_failed(stream, 1, false);
    }
    return sent ? 0 : 1;
}

/* "MESSAGE=line", the first of the fields, for a target that takes lines. */
static const char *target_message(const char *text, size_t *n) {
    const char *end = memchr(text, '\n', *n);
    size_t name = strlen("MESSAGE=");
    *n = end == NULL || *n < name ? 0 : (size_t)(end - text) + 1 - name;
    return text + name;
}

static unsigned target_keep(const struct nest__sink_targets *targets, enum nest__sink_stream stream,
                            const char *text, size_t n) {
    unsigned lost = 0;
    if (n > TARGET_KEPT - target_states[stream].n) {
        lost = target_flush(targets, stream, false);
    }
    memcpy(target_states[stream].kept + target_states[stream].n, text, n);
    target_states[stream].n += n;
    return lost;
}

unsigned nest__sink_write(const struct nest__sink_targets *targets, enum nest__sink_tag tag,
                          const char *text, size_t n) {
    char datagram[TARGET_DATAGRAM];
    struct nest__line line = {datagram, 0, sizeof datagram};
    enum nest__sink_stream stream =
        tag == NEST__SINK_ERROR && !targets->same ? NEST__SINK_OF_ERRORS : NEST__SINK_OF_ACCESS;
    const struct nest__sink_target *target = &targets->of[stream];
    bool fields = tag == NEST__SINK_FIELDS;
    if (fields && target->kind != NEST__SINK_JOURNAL) {
        text = target_message(text, &n);
        fields = false;
    }
    if (target->kind == NEST__SINK_STDERR || target->kind == NEST__SINK_FILE) {
        return target_keep(targets, stream, text, n);
    }
    text = nest__line_bare(text, &n);
    unsigned severity = tag == NEST__SINK_ERROR ? target_severity(text, n) : NEST__SYSLOG_INFO;
    if (target->kind == NEST__SINK_SYSLOG) {
        nest__line_syslog(&line, severity, nest__supervisor(), text, n);
    } else {
        target_journal(&line, severity, text, n, fields);
    }
    return target_send(target, stream, datagram, line.n);
}
