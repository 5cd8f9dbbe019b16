/* record.c: writes
 *
 *   ID MS open
 *   ID MS take "bytes"     a rule matched them: a message begins
 *   ID MS read "bytes"     they follow it: an action read them, or no rule matched them
 *   ID MS reply            something was sent to the client
 *   ID MS tls              the connection became encrypted before what follows
 *   ID MS secret           the connection is encrypted from its beginning
 *   ID MS end closed
 *
 * to the descriptor NEST_RECORD_FD. MS is a time in milliseconds. State: the descriptor, which the
 * threads of a process share. A line has less than PIPE_BUF bytes and is written by one call, so
 * the lines of processes and threads do not mix in a pipe; longer messages have several lines. Must
 * not know which model runs it, nor who reads the lines.
 */
#include "record.h"
#include "../../platform/platform.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    RECORD_LINE = 1024, /* on the stack of an action */
    RECORD_HEAD = 96,   /* of a line, without its bytes */
    RECORD_PIECE = (RECORD_LINE - RECORD_HEAD) / NEST__ESCAPED,
    RECORD_UNKNOWN = -2,
    RECORD_NONE = -1
};

_Static_assert((int)RECORD_LINE <= (int)PIPE_BUF, "a pipe keeps lines whole");

/* scope: process, shared by its threads; set once, by all of them to the same. */
static _Atomic int record_fd = RECORD_UNKNOWN;

static int record_open(void) {
    int fd = atomic_load(&record_fd);
    if (fd != RECORD_UNKNOWN) {
        return fd;
    }
    const char *number = getenv("NEST_RECORD_FD");
    fd = RECORD_NONE;
    if (number != NULL) {
        char *end;
        long value = strtol(number, &end, 10);
        if (end != number && *end == '\0' && value >= 0 && value <= INT_MAX &&
            fcntl((int)value, F_GETFD) != -1) {
            fd = (int)value;
        } else {
            nest__say("NEST_RECORD_FD: '%.20s' is not an open descriptor; nothing is recorded",
                      number);
        }
    }
    atomic_store(&record_fd, fd);
    return fd;
}

/* Writes "ID MS what", then a word or the quoted bytes; NULL: the line has none. */
static void record_line(nest_session *s, const char *what, const char *word, const void *bytes,
                        size_t n) {
    char text[RECORD_LINE];
    struct nest__line line = {text, 0, sizeof text - 1};
    int fd = record_open();
    if (fd == RECORD_NONE) {
        return;
    }
    nest__line_number(&line, nest_id(s));
    nest__line_char(&line, ' ');
    nest__line_number(&line, nest__clock_ms());
    nest__line_char(&line, ' ');
    nest__line_add(&line, what);
    if (word != NULL || bytes != NULL) {
        nest__line_char(&line, ' ');
    }
    if (word != NULL) {
        nest__line_add(&line, word);
    }
    if (bytes != NULL) {
        nest__line_quote(&line, bytes, n);
    }
    line.p[line.n] = '\n';
    nest__write(fd, line.p, line.n + 1);
}

/* The bytes in pieces: the first one as `what`, the others as bytes that follow it. */
static void record_bytes(nest_session *s, const char *what, const uint8_t *bytes, size_t n) {
    if (NEST__TLS && n > 0 && nest_tls(s) == NEST_TLS_ON) {
        record_line(s, "tls", NULL, NULL, 0); /* the reader takes the first one */
    }
    while (n > 0) {
        size_t piece = n < RECORD_PIECE ? n : RECORD_PIECE;
        record_line(s, what, NULL, bytes, piece);
        what = "read";
        bytes += piece;
        n -= piece;
    }
}

void nest__record_open(nest_session *s) {
    record_line(s, "open", NULL, NULL, 0);
    if (NEST__TLS && nest_tls(s) == NEST_TLS_ON) {
        record_line(s, "secret", NULL, NULL, 0);
    }
}

void nest__record_take(nest_session *s, const struct nest__rule *rule, const uint8_t *bytes,
                       uint32_t n) {
    (void)rule;
    record_bytes(s, "take", bytes, n);
}

void nest__record_read(nest_session *s, const uint8_t *bytes, uint32_t n) {
    record_bytes(s, "read", bytes, n);
}

void nest__record_replied(nest_session *s, size_t items, uint64_t n) {
    (void)items;
    if (n > 0) {
        record_line(s, "reply", NULL, NULL, 0);
    }
}

void nest__record_file(nest_session *s, int fd, uint64_t at, uint64_t n) {
    (void)fd, (void)at, (void)n;
    record_line(s, "reply", NULL, NULL, 0);
}

void nest__record_end(nest_session *s) {
    record_line(s, "end", nest__reason_word(nest_reason(s)), NULL, 0);
}
