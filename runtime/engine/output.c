/* output.c: the output queue, and the directives that fill it.
 *
 * Called by actions (nest_reply and its kin) and by io (nest__out_*). State: the queue's block in
 * the session's work. At most outputBuffer bytes are queued; who has more waits in a wait. Must
 * not know how bytes leave. */
#include "engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUT_FIRST = 1024 };

int nest__out_next(nest_session *s, struct nest__chan *chan, struct nest__out out[], int n) {
    (void)chan;
    if (s->work == NULL || s->work->out_n == 0 || n < 1) {
        return 0;
    }
    out[0] = (struct nest__out){NEST__OUT_BYTES, s->work->out + s->work->out_at, s->work->out_n};
    return 1;
}

void nest__out_sent(nest_session *s, struct nest__chan *chan, uint64_t n) {
    struct nest__work *work = s->work;
    (void)chan;
    work->out_at += (size_t)n;
    work->out_n -= (size_t)n;
    if (work->out_n == 0) {
        work->out_at = 0;
        work->out_mark = 0;
        nest__settle(s);
    } else if (n < work->out_mark) {
        work->out_mark -= (size_t)n;
    } else { /* the batch has left: what waits now is the next */
        work->out_mark = work->out_n;
        work->out_since = nest__clock();
    }
}

uint64_t nest__out_queued(const nest_session *s, const struct nest__chan *chan) {
    (void)chan;
    return s->work == NULL ? 0 : s->work->out_n;
}

void nest__out_drop(nest_session *s) {
    if (s->work != NULL) {
        s->work->out_at = 0;
        s->work->out_n = 0;
        s->work->out_mark = 0;
    }
}

/* A larger block; without memory the room that is there, or that of the reserve. Not inlined: a
 * warm request has room. */
__attribute__((noinline)) static int64_t out_grow(struct nest__work *work, size_t n) {
    size_t cap = work->out_cap < OUT_FIRST ? OUT_FIRST : work->out_cap;
    while (cap <= work->out_at + work->out_n + n) {
        cap *= 2;
    }
    uint8_t *out = realloc(work->out, cap);
    if (out != NULL) {
        work->out = out;
        work->out_cap = cap;
    } else if (work->out_n + n < work->out_cap) {
        memmove(work->out, work->out + work->out_at, work->out_n);
        work->out_at = 0;
    } else if (!nest__lend(nest__worker()->action->session) || work->out_n + n >= work->out_cap) {
        return -ENOMEM;
    }
    return (int64_t)n;
}

/* What was sent is moved over when it is the larger half: so there is never more of it in front
 * than is queued, and the block is the next of its sizes that holds both. */
uint64_t nest__out_most(void) {
    uint64_t cap = OUT_FIRST, limit = nest__config.output_buffer;
    while (cap <= 2 * limit - 2) {
        cap *= 2;
    }
    return cap;
}

/* Makes room behind the queue for up to n bytes and a NUL, within outputBuffer; how many, 0 if the
 * queue is full, or -ENOMEM. What was sent is reclaimed by moving when it is the larger half, so
 * that a byte moves at most once on average. */
static int64_t out_room(struct nest__work *work, size_t n) {
    size_t limit = nest__config.output_buffer;
    size_t room = work->out_n < limit ? limit - work->out_n : 0;
    n = n < room ? n : room;
    if (n == 0 || work->out_at + work->out_n + n < work->out_cap) {
        return (int64_t)n;
    }
    if (work->out_at > work->out_n && work->out_n + n < work->out_cap) {
        memmove(work->out, work->out + work->out_at, work->out_n);
        work->out_at = 0;
        return (int64_t)n;
    }
    return out_grow(work, n);
}

int64_t nest__out_space(nest_session *s, size_t n, uint8_t **p) {
    if (nest__fails(s, nest__acting(s))) {
        return nest__refuse(s);
    }
    for (;;) {
        struct nest__work *work = nest__borrow(s);
        int64_t room = work == NULL ? -ENOMEM : out_room(work, n);
        if (room < 0) {
            return nest__cut_short(s, (int)room);
        }
        if (room > 0) {
            *p = work->out + work->out_at + work->out_n;
            return room;
        }
        if (nest__await_output(s, nest__config.output_buffer / 2) < 0) {
            return -1;
        }
    }
}

void nest__out_added(nest_session *s, const uint8_t *p, size_t n) {
    struct nest__work *work = s->work;
    uint8_t *end = work->out + work->out_at + work->out_n;
    if (end != p) { /* the queue has become empty meanwhile, and begins at its front again */
        memmove(end, p, n);
    }
    work->out_n += n;
}

int nest_reply_list(nest_session *s, size_t count, const nest_bytes items[]) {
    struct nest__action *action = nest__acting(s);
    const uint8_t *message = action == NULL ? NULL : action->message.p;
    if (nest__fails(s, action)) {
        return nest__refuse(s);
    }
    for (size_t i = 0; i < count; i++) {
        size_t n = items[i].p == NULL ? 0 : items[i].n;
        if (n == 0) {
            continue;
        }
        nest__on_reply(s, nest__source(action, message, items[i].p), n);
        for (size_t done = 0; done < n;) {
            struct nest__work *work = nest__borrow(s);
            int64_t room = work == NULL ? -ENOMEM : out_room(work, n - done);
            if (room == 0) {
                if (nest__await_output(s, nest__config.output_buffer / 2) < 0) {
                    return -1;
                }
            } else if (room > 0) {
                memcpy(work->out + work->out_at + work->out_n,
                       nest__source(action, message, items[i].p) + done, (size_t)room);
                work->out_n += (size_t)room;
                done += (size_t)room;
            } else {
                return nest__cut_short(s, (int)room);
            }
        }
    }
    return 0;
}

int nest_reply_bytes(nest_session *s, const void *p, size_t n) {
    nest_bytes item = {p, n};
    return nest_reply_list(s, 1, &item);
}

int nest_reply(nest_session *s, const char *text) {
    nest_bytes item = nest_text(text);
    return nest_reply_list(s, 1, &item);
}

/* Formats behind the queue if n characters fit there now; the length the text has, or < 0. */
static int out_format(nest_session *s, struct nest__work *work, size_t n, const char *format,
                      va_list arguments) {
    int64_t room = out_room(work, n);
    if (room < 0) {
        errno = ENOMEM;
        return -1;
    }
    char none[1];
    char *to = room == 0 ? none : (char *)work->out + work->out_at + work->out_n;
    int length = vsnprintf(to, (size_t)room + 1, format, arguments);
    if (length > 0 && length <= room) {
        nest__on_reply(s, to, (size_t)length);
        work->out_n += (size_t)length;
    }
    return length;
}

int nest_vreplyf(nest_session *s, const char *format, va_list arguments) {
    struct nest__work *work;
    if (nest__fails(s, nest__acting(s))) {
        return nest__refuse(s);
    }
    if ((work = nest__borrow(s)) == NULL) {
        return nest__cut_short(s, -ENOMEM);
    }
    size_t queued = work->out_n;
    va_list again;
    va_copy(again, arguments);
    int length = out_format(s, work, OUT_FIRST / 2, format, again);
    va_end(again);
    if (length <= 0 || work->out_n > queued) {
        return length < 0 ? nest__cut_short(s, -errno) : 0;
    }
    if ((size_t)length + queued <=
        nest__config.output_buffer) { /* fits, and now its size is known */
        va_copy(again, arguments);
        length = out_format(s, work, (size_t)length, format, again);
        va_end(again);
        if (length <= 0 || work->out_n > queued) {
            return length < 0 ? nest__cut_short(s, -errno) : 0;
        } /* else outputBuffer has just become smaller */
    }
    char *text =
        malloc((size_t)length + 1); /* before a wait: arguments may point into the message */
    if (text == NULL) {
        return nest__cut_short(s, -ENOMEM);
    }
    vsnprintf(text, (size_t)length + 1, format, arguments);
    int result = nest_reply_bytes(s, text, (size_t)length);
    free(text);
    return result;
}

int nest_replyf(nest_session *s, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int result = nest_vreplyf(s, format, arguments);
    va_end(arguments);
    return result;
}

int nest_flush(nest_session *s) {
    if (nest__fails(s, nest__acting(s))) {
        return nest__refuse(s);
    }
    int result = nest__push(s, &s->c0);
    return result < 0 ? nest__cut_short(s, result) : 0;
}
