/* bytes.c: the directives that read from second connections: bytes, lines, what is there.
 *
 * Called by actions and by relay.c. State: the unread bytes of a channel, in its record. Text
 * is given in place: a NUL stands behind it, and the byte that it replaces is put back before the
 * next read. Must not know how bytes come. */
#include "second.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_FIRST = 1024 };

void nest__second_restore(struct nest__further *further) {
    if (further->holds) {
        further->in[further->in_at] = further->held;
        further->holds = false;
    }
}

int nest__second_space(struct nest__further *further, uint32_t need) {
    if (further->in_at > 0 && further->in_at + need >= further->in_cap) {
        memmove(further->in, further->in + further->in_at, further->in_n);
        further->in_at = 0;
    }
    if (need < further->in_cap) {
        return 0;
    }
    uint32_t cap = further->in_cap == 0 ? BYTES_FIRST : further->in_cap;
    while (cap <= need) {
        cap *= 2;
    }
    uint8_t *in = realloc(further->in, cap);
    if (in == NULL) {
        return -ENOMEM;
    }
    further->in = in;
    further->in_cap = cap;
    return 0;
}

int64_t nest__second_more(nest_session *s, struct nest__further *further, uint32_t need,
                          uint32_t deadline) {
    if ((further->chan.state & NEST__CHAN_EOF) != 0) {
        return 0;
    }
    if (nest__channel_drain(s, further, 0) < 0) {
        return -1;
    }
    if (nest__second_space(further, need) < 0) {
        return nest__cut_short(s, -ENOMEM);
    }
    uint32_t end = further->in_at + further->in_n;
    struct nest__wait wait = {.what = NEST__INPUT,
                              .into = further->in + end,
                              .room = further->in_cap - 1 - end,
                              .deadline = deadline};
    int n = nest__channel_wait(s, further, wait);
    further->in_n += n > 0 ? (uint32_t)n : 0;
    return n;
}

struct nest__further *nest__second_input(nest_session *s, int handle) {
    struct nest__further *further = nest__second_use(s, handle);
    if (further != NULL && further->listens) {
        errno = EINVAL;
        return NULL;
    }
    if (further != NULL) {
        nest__second_restore(further);
    }
    return further;
}

uint32_t nest__second_read_until(const struct nest__further *further) {
    return nest__second_until(further->limit != 0 ? further->limit : nest__config.read_timeout);
}

static char *bytes_none(int error) {
    errno = error;
    return NULL;
}

/* Gives the first n unread bytes, and passes over `skip` more. */
static char *bytes_give(struct nest__further *further, uint32_t n, uint32_t skip) {
    char *text = (char *)further->in + further->in_at;
    further->in_at += n + skip;
    further->in_n -= n + skip;
    if (skip == 0) {
        further->held = further->in[further->in_at];
        further->holds = true;
    }
    text[n] = '\0';
    return text;
}

__attribute__((noinline)) static char *bytes_read_from(nest_session *s, int handle, size_t n) {
    struct nest__further *further = nest__second_input(s, handle);
    if (further == NULL) {
        return NULL;
    }
    if (n > nest__config.input_buffer) {
        return bytes_none(EMSGSIZE);
    }
    uint32_t deadline = nest__second_read_until(further);
    if (nest__second_space(further, (uint32_t)n) < 0) {
        nest__cut_short(s, -ENOMEM);
        return NULL;
    }
    while (further->in_n < n) {
        int64_t more = nest__second_more(s, further, (uint32_t)n, deadline);
        if (more <= 0) {
            return more == 0 ? bytes_none(0) : NULL;
        }
    }
    return bytes_give(further, (uint32_t)n, 0);
}

char *nest_read_from(nest_session *s, int handle, size_t n) {
    struct nest__trip *trip = nest__at_home(s);
    char *result = bytes_read_from(s, handle, n);
    nest__from_home(trip);
    return result;
}

__attribute__((noinline)) static char *bytes_read_line_from(nest_session *s, int handle,
                                                            size_t max) {
    struct nest__further *further = nest__second_input(s, handle);
    if (further == NULL) {
        return NULL;
    }
    uint32_t looked = 0, deadline = nest__second_read_until(further);
    uint32_t most = max < nest__config.input_buffer ? (uint32_t)max : nest__config.input_buffer;
    if (nest__second_space(further, further->in_n) < 0) {
        nest__cut_short(s, -ENOMEM);
        return NULL;
    }
    for (;;) { /* at most `most` bytes, and CR and LF */
        const uint8_t *p = further->in + further->in_at;
        uint32_t n = further->in_n < most + 2 ? further->in_n : most + 2;
        const uint8_t *lf = n > looked ? memchr(p + looked, '\n', n - looked) : NULL;
        if (lf != NULL) {
            uint32_t line = (uint32_t)(lf - p), cr = line > 0 && p[line - 1] == '\r';
            return line - cr > most ? bytes_none(EMSGSIZE) : bytes_give(further, line - cr, cr + 1);
        }
        if (n == most + 2 || (n == most + 1 && p[most] != '\r')) {
            return bytes_none(EMSGSIZE);
        }
        looked = n;
        int64_t more = nest__second_more(s, further, further->in_n + 1, deadline);
        if (more <= 0) {
            return more == 0 ? bytes_none(0) : NULL;
        }
    }
}

char *nest_read_line_from(nest_session *s, int handle, size_t max) {
    struct nest__trip *trip = nest__at_home(s);
    char *result = bytes_read_line_from(s, handle, max);
    nest__from_home(trip);
    return result;
}

size_t nest__second_copy(struct nest__further *further, void *to, size_t n) {
    uint32_t some = further->in_n < n ? further->in_n : (uint32_t)n;
    if (some > 0) {
        memcpy(to, further->in + further->in_at, some);
        further->in_at += some;
        further->in_n -= some;
    }
    return some;
}

/* Receives at most n bytes into `to`. How many; 0: end of file; -1 and errno. */
static long bytes_into(nest_session *s, struct nest__further *further, uint8_t *to, size_t n) {
    if ((further->chan.state & NEST__CHAN_EOF) != 0) {
        return 0;
    }
    struct nest__wait wait = {.what = NEST__INPUT,
                              .into = to,
                              .room = n < INT32_MAX ? (uint32_t)n : INT32_MAX,
                              .deadline = nest__second_read_until(further)};
    if (nest__channel_drain(s, further, 0) < 0) {
        return -1;
    }
    return nest__channel_wait(s, further, wait);
}

__attribute__((noinline)) static long bytes_read_some_from(nest_session *s, int handle, void *to,
                                                           size_t n) {
    struct nest__further *further = nest__second_input(s, handle);
    if (further == NULL || n == 0) {
        return further == NULL ? -1 : 0;
    }
    size_t some = nest__second_copy(further, to, n);
    long more = some > 0 ? (long)some : bytes_into(s, further, to, n);
    errno = more == 0 ? 0 : errno;
    return more;
}

long nest_read_some_from(nest_session *s, int handle, void *to, size_t n) {
    struct nest__trip *trip = nest__at_home(s);
    long result = bytes_read_some_from(s, handle, to, n);
    nest__from_home(trip);
    return result;
}

__attribute__((noinline)) static long bytes_read_into_from(nest_session *s, int handle, void *to,
                                                           size_t n) {
    struct nest__further *further = nest__second_input(s, handle);
    if (further == NULL) {
        return -1;
    }
    size_t done = nest__second_copy(further, to, n);
    while (done < n) {
        long more = bytes_into(s, further, (uint8_t *)to + done, n - done);
        if (more <= 0) {
            errno = more == 0 ? 0 : errno;
            return more == 0 ? (long)done : -1;
        }
        done += (size_t)more;
    }
    return (long)done;
}

long nest_read_into_from(nest_session *s, int handle, void *to, size_t n) {
    struct nest__trip *trip = nest__at_home(s);
    long result = bytes_read_into_from(s, handle, to, n);
    nest__from_home(trip);
    return result;
}
