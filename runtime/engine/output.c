/* output.c: the directives that reply, and the output queues of a session's channels.
 *
 * Called by actions (nest_reply and its kin) and by pollers (nest__out_*). State: the queue in the
 * session's work, or in the record of a further channel. At most outputBuffer bytes are queued; an
 * action that has more waits. Must not know how bytes leave. */
#include "engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUT_FORMATTED = 512 }; /* a text is tried with so much room first */

/* -- the queue */

/* The output of a channel; NULL: nothing is queued. */
static struct nest__output *out_of(const nest_session *s, const struct nest__chan *chan) {
    struct nest__further *further = nest__further_of(s, chan);
    return further != NULL ? &further->out : s->work == NULL ? NULL : &s->work->out;
}

int nest__out_next(nest_session *s, struct nest__chan *chan, struct nest__out out[], int n) {
    const struct nest__output *output = out_of(s, chan);
    return output == NULL ? 0 : nest__queue_next(&output->queue, out, n);
}

void nest__out_taken(nest_session *s, struct nest__chan *chan, uint64_t n) {
    nest__queue_taken(&out_of(s, chan)->queue, n);
}

void nest__out_sent(nest_session *s, struct nest__chan *chan, uint64_t n) {
    struct nest__output *out = out_of(s, chan);
    nest__queue_sent(&out->queue, n);
    out->sent += n;
    if (n > 0 && nest__further_of(s, chan) == NULL) {
        nest__on_output(s, n);
    }
    if (out->waits && n > 0) {
        out->moved = nest__now();
        out->moves = true;
    }
    if (out->queue.n == 0) {
        out->waits = false;
        if (nest__further_of(s, chan) == NULL) {
            nest__on_drained(s);
            nest__settle(s);
        }
    }
}

void nest__out_passed(nest_session *s, uint64_t n) {
    if (s->work != NULL) {
        s->work->out.sent += n;
    }
}

uint64_t nest__out_queued(const nest_session *s, const struct nest__chan *chan) {
    const struct nest__output *out = out_of(s, chan);
    return out == NULL ? 0 : out->queue.n;
}

void nest__out_drop(nest_session *s) {
    if (s->work != NULL) {
        nest__queue_drop(&s->work->out.queue);
        s->work->out.waits = false;
    }
}

/* No memory: that of the reserve. Not inlined: a warm request has room. */
__attribute__((noinline)) static int64_t out_lend(struct nest__work *work, size_t n) {
    bool lent = nest__lend(nest__worker()->action->session);
    return lent && nest__queue_room(&work->out.queue, n) == 0 ? (int64_t)n : -ENOMEM;
}

/* Makes room behind the queue for up to n bytes and a NUL, within outputBuffer; how many, 0 if the
 * queue is full, or -ENOMEM. */
static int64_t out_room(struct nest__work *work, size_t n) {
    size_t limit = nest__config.output_buffer;
    size_t room = work->out.queue.n < limit ? limit - (size_t)work->out.queue.n : 0;
    n = n < room ? n : room;
    if (n == 0 || nest__queue_room(&work->out.queue, n) == 0) {
        return (int64_t)n;
    }
    return out_lend(work, n);
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
            *p = nest__queue_end(&work->out.queue);
            return room;
        }
        if (nest__await_output(s, nest__config.output_buffer / 2) < 0) {
            return -1;
        }
    }
}

void nest__out_added(nest_session *s, size_t n) {
    nest__queue_added(&s->work->out.queue, n);
}

/* -- directives */

/* Announces a reply. Returns how many bytes it has. */
static size_t out_tell(nest_session *s, size_t count, const nest_bytes items[]) {
    size_t filled = 0, n = 0;
    for (size_t i = 0; i < count; i++) {
        n += items[i].p == NULL ? 0 : items[i].n;
        filled += items[i].p != NULL && items[i].n > 0;
    }
    if (n > 0) {
        nest__on_replied(s, filled, n);
    }
    return n;
}

/* Queues items of `n` bytes together if they all fit now, as nearly always. */
static bool out_whole(nest_session *s, size_t count, const nest_bytes items[], size_t n) {
    struct nest__work *work = nest__borrow(s);
    if (work == NULL || out_room(work, n) != (int64_t)n) {
        return false;
    }
    uint8_t *to = nest__queue_end(&work->out.queue);
    for (size_t i = 0; i < count; i++) {
        if (items[i].p != NULL && items[i].n > 0) {
            nest__on_reply(s, items[i].p, items[i].n);
            memcpy(to, items[i].p, items[i].n);
            to += items[i].n;
        }
    }
    nest__queue_added(&work->out.queue, n);
    return true;
}

/* Queues items in pieces, and waits for space between them. */
static int out_pieces(nest_session *s, size_t count, const nest_bytes items[]) {
    struct nest__action *action = nest__acting(s);
    const uint8_t *message = action == NULL ? NULL : action->message.p;
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
                memcpy(nest__queue_end(&work->out.queue),
                       nest__source(action, message, items[i].p) + done, (size_t)room);
                nest__queue_added(&work->out.queue, (size_t)room);
                done += (size_t)room;
            } else {
                return nest__cut_short(s, (int)room);
            }
        }
    }
    return 0;
}

int nest_reply_list(nest_session *s, size_t count, const nest_bytes items[]) {
    if (nest__fails(s, nest__acting(s))) {
        return nest__refuse(s);
    }
    size_t n = out_tell(s, count, items);
    return n == 0 || out_whole(s, count, items, n) ? 0 : out_pieces(s, count, items);
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
    char *to = room == 0 ? none : (char *)nest__queue_end(&work->out.queue);
    int length = vsnprintf(to, (size_t)room + 1, format, arguments);
    if (length > 0 && length <= room) {
        nest__on_reply(s, to, (size_t)length);
        nest__on_replied(s, 1, (uint64_t)length);
        nest__queue_added(&work->out.queue, (size_t)length);
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
    uint64_t queued = work->out.queue.n;
    va_list again;
    va_copy(again, arguments);
    int length = out_format(s, work, OUT_FORMATTED, format, again);
    va_end(again);
    if (length <= 0 || work->out.queue.n > queued) {
        return length < 0 ? nest__cut_short(s, -errno) : 0;
    }
    if ((size_t)length + queued <=
        nest__config.output_buffer) { /* fits, and now its size is known */
        va_copy(again, arguments);
        length = out_format(s, work, (size_t)length, format, again);
        va_end(again);
        if (length <= 0 || work->out.queue.n > queued) {
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

__attribute__((noinline)) static int out_flush(nest_session *s) {
    int result = nest__push(s, &s->c0);
    return result < 0 ? nest__cut_short(s, result) : 0;
}

int nest_flush(nest_session *s) {
    if (nest__fails(s, nest__acting(s))) {
        return nest__refuse(s);
    }
    struct nest__trip *trip = nest__at_home(s);
    int result = out_flush(s);
    nest__from_home(trip);
    return result;
}
