/* input.c: the directives that take input behind the match: bytes, lines, as many as they say.
 *
 * Called by actions, and by files.c. State: the session's unread bytes, the block's text that an
 * action was given. What was received already is taken first, wherever it lies. What is awaited is
 * received behind the rest, and so is what comes with it, for who reads next. Must not know how
 * bytes come. */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool nest__input_fails(nest_session *s) {
    const struct nest__action *action = nest__acting(s);
    if (action == NULL || s->reason != NEST_OPEN || (s->flags & NEST__CLOSING) != 0) {
        errno = ECANCELED;
        return true;
    }
    return nest__fails(s, action) && nest__refuse(s) < 0;
}

static const uint8_t *input_unread(nest_session *s, uint32_t *n) {
    return nest__unread_bytes(s, nest__acting(s)->window, n);
}

void nest__input_taken(nest_session *s, uint32_t n) {
    struct nest__action *action = nest__acting(s);
    uint32_t unread;
    action->took += n;
    nest__on_read(s, input_unread(s, &unread), n);
    nest__consume(s, action->window, n);
}

/* When a wait for the next byte ends: the idle limit, or that of a message which began at `since`,
 * if it is not 0 and that is sooner; 0: never. */
static uint32_t input_deadline(const nest_session *s, uint32_t since) {
    uint32_t limit = nest__idle_limit(s), read = nest__config.read_timeout;
    uint32_t end = since == 0 || read == 0 ? 0 : nest__after(since, read);
    uint32_t idle = limit == 0 ? 0 : nest__after(nest__clock(), limit);
    return idle == 0 || (end != 0 && !nest__reached(idle, end)) ? end : idle;
}

/* Before a wait: output has left, the message and the unread bytes are the session's own. */
static int input_prepare(nest_session *s) {
    if (nest__out_queued(s, &s->c0) > 0 && nest__await_output(s, 0) < 0) {
        return -1;
    }
    return nest__own(s, NULL) < 0 ? nest__cut_short(s, -ENOMEM) : 0;
}

/* Receives behind the rest, where `need` unread bytes must fit in all. *since: when the message's
 * first byte was there, 0 before; NULL: any byte will do. How many; 0: end of file; -1 and errno.
 */
__attribute__((noinline)) static int64_t input_behind(nest_session *s, uint32_t need,
                                                      uint32_t *since) {
    if ((s->c0.state & NEST__CHAN_EOF) != 0) {
        return 0;
    }
    if (input_prepare(s) < 0) {
        return -1;
    }
    if (nest__rest_behind(s, nest__acting(s), need) < 0) {
        return nest__cut_short(s, -ENOMEM);
    }
    struct nest__work *work = s->work;
    if (since != NULL && *since == 0 && work->rest_n > 0) {
        *since = nest__after(nest__now(), 0);
    }
    uint32_t most = nest__config.input_buffer + NEST__BEHIND_REST - work->rest_n;
    uint32_t room = work->rest_cap - work->rest_at - work->rest_n;
    int64_t n =
        nest__await_input(s, work->rest + work->rest_at + work->rest_n, room < most ? room : most,
                          input_deadline(s, since == NULL ? 0 : *since));
    work->rest_n += n > 0 ? (uint32_t)n : 0;
    return n;
}

static int64_t input_more(nest_session *s, uint32_t need, uint32_t *since) {
    struct nest__trip *trip = nest__at_home(s);
    int64_t n = input_behind(s, need, since);
    nest__from_home(trip);
    return n;
}

/* The same into a buffer of the action. */
__attribute__((noinline)) static int64_t input_into(nest_session *s, uint8_t *to, uint32_t room) {
    int64_t n = input_prepare(s);
    if (n == 0) {
        n = nest__await_input(s, to, room, input_deadline(s, 0));
        if (n > 0) {
            nest__acting(s)->took += (uint64_t)n;
            nest__on_read(s, to, (uint32_t)n);
        }
    }
    return n;
}

static int64_t input_direct(nest_session *s, uint8_t *to, uint32_t room) {
    struct nest__trip *trip = nest__at_home(s);
    int64_t n = input_into(s, to, room);
    nest__from_home(trip);
    return n;
}

/* Room for n bytes of text and a NUL. */
static char *input_text(nest_session *s, size_t n) {
    struct nest__work *work = nest__borrow(s);
    if (work != NULL && work->text_cap <= n) {
        size_t cap = n < NEST__GIVEN ? NEST__GIVEN : n + 1;
        free(work->text); /* the action's no longer: there are never two */
        work->text = malloc(cap);
        work->text_cap = work->text == NULL ? 0 : cap;
        if (work->text == NULL) {
            work = NULL;
        } else {
            work->apart = work->apart || cap > NEST__KEPT;
        }
    }
    if (work == NULL) {
        nest__cut_short(s, -ENOMEM);
        return NULL;
    }
    return work->text;
}

/* Gives the first n unread bytes to the action, and drops `behind` more. */
static char *input_give(nest_session *s, uint32_t n, uint32_t behind) {
    char *text = input_text(s, n);
    if (text != NULL) {
        uint32_t unread;
        const uint8_t *p = input_unread(s, &unread);
        if (n > 0) {
            memcpy(text, p, n);
        }
        text[n] = '\0';
        nest__input_taken(s, n + behind);
    }
    return text;
}

static char *input_none(int error) {
    errno = error;
    return NULL;
}

char *nest_read(nest_session *s, size_t n) {
    uint32_t unread, since = 0;
    if (nest__input_fails(s)) {
        return NULL;
    }
    if (n > nest__config.input_buffer) {
        s->flags |= NEST__UNREAD; /* the action knows that so many bytes follow */
        return input_none(EMSGSIZE);
    }
    for (input_unread(s, &unread); unread < n; input_unread(s, &unread)) {
        int64_t more = input_more(s, (uint32_t)n, &since);
        if (more <= 0) {
            return more == 0 ? input_none(0) : NULL;
        }
    }
    return input_give(s, (uint32_t)n, 0);
}

char *nest_read_line(nest_session *s, size_t max) {
    uint32_t looked = 0, since = 0;
    uint32_t most = max < nest__config.input_buffer ? (uint32_t)max : nest__config.input_buffer;
    if (nest__input_fails(s)) {
        return NULL;
    }
    for (;;) { /* at most `most` bytes, and CR and LF */
        uint32_t unread;
        const uint8_t *p = input_unread(s, &unread);
        uint32_t n = unread < most + 2 ? unread : most + 2;
        const uint8_t *lf = n > looked ? memchr(p + looked, '\n', n - looked) : NULL;
        if (lf != NULL) {
            uint32_t line = (uint32_t)(lf - p), cr = line > 0 && p[line - 1] == '\r';
            return line - cr > most ? input_none(EMSGSIZE) : input_give(s, line - cr, cr + 1);
        }
        if (n == most + 2 || (n == most + 1 && p[most] != '\r')) {
            return input_none(EMSGSIZE);
        }
        looked = n;
        int64_t more = input_more(s, most + 2, &since);
        if (more <= 0) {
            return more == 0 ? input_none(0) : NULL;
        }
    }
}

long nest_read_into(nest_session *s, void *to, size_t n) {
    size_t done = 0;
    if (nest__input_fails(s)) {
        return -1;
    }
    while (done < n) {
        uint32_t unread;
        const uint8_t *p = input_unread(s, &unread);
        if (unread > 0) {
            unread = unread < n - done ? unread : (uint32_t)(n - done);
            memcpy((uint8_t *)to + done, p, unread);
            nest__input_taken(s, unread);
            done += unread;
            continue;
        }
        int64_t more = 0;
        if (n - done < NEST__BEHIND_REST) {
            more = input_more(s, (uint32_t)(n - done), NULL);
        } else if ((s->c0.state & NEST__CHAN_EOF) == 0) { /* many: no copy in between */
            uint32_t room = n - done < INT32_MAX ? (uint32_t)(n - done) : INT32_MAX;
            more = input_direct(s, (uint8_t *)to + done, room);
            done += more > 0 ? (size_t)more : 0;
        }
        if (more <= 0) {
            errno = more == 0 ? 0 : errno;
            return more == 0 ? (long)done : -1;
        }
    }
    return (long)done;
}

int64_t nest__input_chunk(nest_session *s, uint64_t most, const uint8_t **p) {
    uint32_t unread;
    if (nest__input_fails(s)) {
        return -1;
    }
    input_unread(s, &unread);
    if (unread == 0) {
        int64_t more =
            input_more(s, most < NEST__BEHIND_REST ? (uint32_t)most : NEST__BEHIND_REST, NULL);
        if (more <= 0) {
            return more;
        }
    } else if (nest__own(s, NULL) < 0) {
        return nest__cut_short(s, -ENOMEM);
    }
    *p = input_unread(s, &unread);
    return unread < most ? unread : (int64_t)most;
}

long nest_skip(nest_session *s, size_t n) {
    size_t done = 0;
    if (nest__input_fails(s)) {
        return -1;
    }
    while (done < n) {
        uint32_t unread;
        input_unread(s, &unread);
        if (unread == 0) {
            size_t rest = n - done;
            uint32_t need = rest < NEST__BEHIND_REST ? (uint32_t)rest : NEST__BEHIND_REST;
            int64_t more = input_more(s, need, NULL);
            if (more <= 0) {
                errno = more == 0 ? 0 : errno;
                return more == 0 ? (long)done : -1;
            }
            continue;
        }
        unread = unread < n - done ? unread : (uint32_t)(n - done);
        nest__input_taken(s, unread);
        done += unread;
    }
    return (long)done;
}

bool nest_pending(nest_session *s) {
    uint32_t unread;
    int error = errno;
    bool fails = nest__input_fails(s);
    errno = error; /* it answers, and cannot fail */
    if (fails) {
        return false;
    }
    input_unread(s, &unread);
    if (unread > 0 || (s->c0.state & NEST__CHAN_EOF) != 0) {
        return unread > 0;
    }
    struct nest__trip *trip = nest__at_home(s);
    bool pending = nest__chan_pending(&s->c0);
    nest__from_home(trip);
    return pending;
}
