/* log.c: writes a line to stderr for each connection that ends:
 *
 *   2020-02-29T14:38:26.123Z info 17 end eof peer=192.0.2.1:4711 messages=2 in=31 out=78 ms=1204
 *   2020-02-29T14:38:26.120Z info 17 message greet in=12 out=40
 *
 * and with NEST__LOG_REQUESTS a line like the second one when the action of a message or of a
 * TIMEOUT rule has ended. `in` is the number of bytes that rules and directives consumed, `out` the
 * number in replies. Lines contain no bytes from clients. A line is one write. If the reader is too
 * slow, lines are dropped and counted, and the server does not wait. State: declared below. Must
 * not know which model runs it. */
#include "log.h"
#include "../../platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOGGING_PEER = 64, LOGGING_LINE = 1024 };

struct logging_entry {
    uint64_t in, out, since;
    uint64_t before;  /* value of `in` before the message */
    uint64_t replied; /* value of `out` before the message */
    const char *name; /* of the rule whose action runs; NULL: none */
    uint32_t messages;
    char peer[LOGGING_PEER];
};

/* scope: process; a slab with one entry per slot, allocated at first use. */
static _Atomic(void *) logging_slab;
/* scope: server; dropped lines, not reported yet. NULL: no shared memory, so not counted. */
static _Atomic uint64_t *logging_dropped;
/* Stderr, opened a second time, so that it can be nonblocking for the log only; -1: impossible. */
/* scope: process, set before workers are made. */
static int logging_fd = -1;
/* scope: process, set before workers are made; stderr is a socket. */
static bool logging_socket;

int nest__log_prepare(void) {
    struct stat file;
    void *shared = mmap(NULL, sizeof *logging_dropped, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    logging_dropped = shared == MAP_FAILED ? NULL : shared;
    if (fstat(STDERR_FILENO, &file) == -1) {
        return 0;
    }
    logging_socket = S_ISSOCK(file.st_mode);
    if (S_ISFIFO(file.st_mode)) { /* another process may fill the pipe after poll */
        logging_fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_APPEND | O_CLOEXEC);
    }
    return 0;
}

static bool logging_put(const char *bytes, size_t n) {
    int saved = errno;
    ssize_t put;
    if (nest__syslogs() || (logging_fd == -1 && !logging_socket)) {
        return nest__tell(STDERR_FILENO, bytes, n);
    }
    if (logging_socket) {
        put = send(STDERR_FILENO, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
        put = write(logging_fd, bytes, n);
    }
    bool done =
        put != -1 || (errno != EAGAIN && errno != ENOBUFS); /* a broken stderr is not slow */
    errno = saved;
    return done;
}

static void logging_begin(struct nest__line *line, char text[LOGGING_LINE], const char *level) {
    *line = (struct nest__line){text, 0, LOGGING_LINE - 1};
    nest__line_time(line);
    nest__line_char(line, ' ');
    nest__line_add(line, level);
    nest__line_char(line, ' ');
}

static void logging_end(struct nest__line *line) {
    line->p[line->n] = '\n';
    uint64_t dropped = logging_dropped != NULL ? atomic_exchange(logging_dropped, 0) : 0;
    if (dropped > 0) {
        char text[LOGGING_LINE];
        struct nest__line told;
        logging_begin(&told, text, "warn");
        nest__line_number(&told, dropped);
        nest__line_add(&told, dropped == 1 ? " line was" : " lines were");
        nest__line_add(&told, " dropped: the reader of the log was too slow\n");
        if (logging_put(told.p, told.n)) {
            dropped = 0;
        }
    }
    if (dropped > 0 ||
        !logging_put(line->p, line->n + 1)) { /* keep the order: drop later lines, too */
        if (logging_dropped != NULL) {
            atomic_fetch_add(logging_dropped, dropped + 1);
        }
    }
}

static void logging_pair(struct nest__line *line, const char *name, uint64_t number) {
    nest__line_add(line, name);
    nest__line_number(line, number);
}

/* NULL: no memory for the slab. */
static struct logging_entry *logging_entry(const nest_session *s) {
    struct logging_entry *slab = nest__slab(&logging_slab, sizeof *slab);
    return slab == NULL ? NULL : &slab[s->self.slot];
}

void nest__log_open(nest_session *s) {
    struct logging_entry *entry = logging_entry(s);
    if (entry != NULL) {
        entry->in = entry->out = 0;
        entry->messages = 0;
        entry->name = NULL;
        entry->since = nest__clock_ms();
        nest__peer_text(&s->c0, entry->peer, sizeof entry->peer);
    }
}

static void logging_message(nest_session *s, const char *name, size_t n) {
    struct logging_entry *entry = logging_entry(s);
    if (entry != NULL) {
        entry->name = name;
        entry->before = entry->in;
        entry->replied = entry->out;
        entry->in += n;
    }
}

void nest__log_take(nest_session *s, const struct nest__rule *rule, const void *bytes, size_t n) {
    struct logging_entry *entry = logging_entry(s);
    (void)bytes;
    logging_message(s, rule->name, n);
    if (entry != NULL) {
        entry->messages++;
    }
}

void nest__log_timer(nest_session *s, const struct nest__timer *timer) {
    logging_message(s, timer->name, 0);
}

void nest__log_reply(nest_session *s, const void *bytes, size_t n) {
    struct logging_entry *entry = logging_entry(s);
    (void)bytes;
    if (entry != NULL) {
        entry->out += n;
    }
}

void nest__log_file(nest_session *s, int fd, uint64_t at, uint64_t n) {
    (void)fd, (void)at;
    nest__log_reply(s, NULL, (size_t)n);
}

void nest__log_acted(nest_session *s, uint64_t taken) {
    struct logging_entry *entry = logging_entry(s);
    if (entry == NULL) {
        return;
    }
    entry->in += taken;
    if (NEST__LOG_REQUESTS && entry->name != NULL) {
        char text[LOGGING_LINE];
        struct nest__line line;
        logging_begin(&line, text, "info");
        nest__line_number(&line, nest_id(s));
        nest__line_add(&line, " message ");
        nest__line_add(&line, entry->name);
        logging_pair(&line, " in=", entry->in - entry->before);
        logging_pair(&line, " out=", entry->out - entry->replied);
        logging_end(&line);
    }
    entry->name = NULL;
}

void nest__log_end(nest_session *s) {
    const struct logging_entry *entry = logging_entry(s);
    char text[LOGGING_LINE];
    struct nest__line line;
    if (entry == NULL) {
        return;
    }
    logging_begin(&line, text, "info");
    nest__line_number(&line, nest_id(s));
    nest__line_add(&line, " end ");
    nest__line_add(&line, nest__reason_word((enum nest_reason)s->reason));
    nest__line_add(&line, " peer=");
    nest__line_add(&line, entry->peer);
    logging_pair(&line, " messages=", entry->messages);
    logging_pair(&line, " in=", entry->in);
    logging_pair(&line, " out=", entry->out);
    logging_pair(&line, " ms=", nest__clock_ms() - entry->since);
    logging_end(&line);
}

struct nest__need nest__log_need(void) {
    return (struct nest__need){"its address and counts, for the log", NULL,
                               sizeof(struct logging_entry), 0};
}
