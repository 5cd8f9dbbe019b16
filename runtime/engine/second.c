/* second.c: what an action says on its second connections, and how it names and closes them.
 *
 * Called by actions and by service/dial. State: the records of further channels. Must not know how
 * a connection was made, nor how bytes move. */
#include "second.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SECOND_NUMBER_BITS = 4,
    SECOND_GENERATIONS = 1 << 26, /* NEST_CLIENT is above every handle */
    SECOND_FORMATTED = 512        /* a text is tried with so much space first */
};
_Static_assert((int)NEST__FURTHER < 1 << SECOND_NUMBER_BITS, "a handle holds any number");

static int second_fail(int error) {
    errno = error;
    return -1;
}

int nest__second_handle(const struct nest__further *further) {
    uint32_t gen = further->gen % SECOND_GENERATIONS;
    return (int)(gen << SECOND_NUMBER_BITS | further->number);
}

/* The open channel of a handle; NULL: there is none. */
static struct nest__further *second_of(nest_session *s, int handle) {
    unsigned number = (unsigned)handle % (1u << SECOND_NUMBER_BITS);
    struct nest__chan *chan = handle < 0 || number == 0 ? NULL : nest__chan_at(s, number);
    struct nest__further *further = chan == NULL ? NULL : nest__further_of(s, chan);
    return further != NULL && nest__second_handle(further) == handle ? further : NULL;
}

struct nest__further *nest__second_use(nest_session *s, int handle) {
    const struct nest__further *further = second_of(s, handle);
    if (further == NULL && !nest__fails(s, nest__acting(s))) {
        errno = EBADF;
        return NULL;
    }
    return nest__channel_use(s, further == NULL ? 0 : further->number);
}

int nest__second_gone(nest_session *s, struct nest__further *further) {
    nest__chan_lost(s, &further->chan, NEST__CHAN_GONE);
    return second_fail(ECONNRESET);
}

uint32_t nest__second_until(uint32_t ms) {
    uint32_t most = ms < NEST__LONGEST ? ms : NEST__LONGEST;
    return ms == 0 ? 0 : nest__after(nest__clock(), most);
}

/* The earliest time at which output is overdue, of the client and of the members; 0: none. */
static uint32_t second_due(nest_session *s, const struct nest__member *members, unsigned count) {
    uint32_t due = nest__out_deadline(s);
    for (unsigned i = 0; i < count; i++) {
        struct nest__further *further = nest__further_of(s, members[i].chan);
        if (further != NULL) {
            due = nest__earlier(due, nest__output_deadline(&further->out));
        }
    }
    return due;
}

/* Cuts the members whose output is overdue. True: there was one. */
static bool second_overdue(nest_session *s, struct nest__member *members, unsigned count) {
    bool any = false;
    for (unsigned i = 0; i < count; i++) {
        struct nest__chan *chan = members[i].chan;
        if (chan != &s->c0 && nest__chan_overdue(s, chan)) {
            nest__chan_lost(s, chan, NEST__CHAN_CUT);
            members[i].came = any = true;
            members[i].got = -ECONNRESET;
        }
    }
    return any;
}

int nest__second_wait(nest_session *s, struct nest__member *members, unsigned count,
                      uint32_t deadline) {
    for (;;) {
        uint32_t due = second_due(s, members, count);
        struct nest__wait wait = {.what = NEST__ANY,
                                  .chan = &s->c0,
                                  .members = members,
                                  .count = count,
                                  .deadline = nest__earlier(deadline, due)};
        int result = nest__wait_in_fiber(s, &wait);
        if (result == 0) {
            return 0;
        }
        if (result != -ETIMEDOUT) {
            return nest__cut_short(s, result);
        }
        if (nest__out_overdue(s)) {
            return nest__unsent(s);
        }
        if (second_overdue(s, members, count)) {
            return 0;
        }
        if (deadline != 0 && nest__reached(deadline, nest__clock())) {
            return second_fail(ETIMEDOUT);
        }
    }
}

/* -- output */

struct nest__further *nest__second_output(nest_session *s, int handle) {
    struct nest__further *further = nest__second_use(s, handle);
    if (further != NULL && (further->ended || further->listens)) {
        errno = EPIPE;
        return NULL;
    }
    return further;
}

__attribute__((noinline)) static int second_reply_to_list(nest_session *s, int handle, size_t count,
                                                          const nest_bytes items[]) {
    const struct nest__action *action = nest__acting(s);
    const uint8_t *message = action == NULL ? NULL : action->message.p;
    struct nest__further *further = nest__second_output(s, handle);
    if (further == NULL) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        size_t n = items[i].p == NULL ? 0 : items[i].n;
        for (size_t done = 0; done < n;) {
            struct nest__queue *queue = &further->out.queue;
            uint64_t limit = nest__config.output_buffer;
            size_t room = queue->n < limit ? (size_t)(limit - queue->n) : 0;
            room = room < n - done ? room : n - done;
            if (room == 0) {
                if (nest__channel_drain(s, further, limit / 2) < 0) {
                    return -1;
                }
            } else if (nest__queue_room(queue, room) < 0) {
                return nest__cut_short(s, -ENOMEM);
            } else { /* the message moves when the action waits */
                memcpy(nest__queue_end(queue), nest__source(action, message, items[i].p) + done,
                       room);
                nest__queue_added(queue, room);
                done += room;
            }
        }
    }
    return 0;
}

int nest_reply_to_list(nest_session *s, int handle, size_t count, const nest_bytes items[]) {
    struct nest__trip *trip = nest__at_home(s);
    int result = second_reply_to_list(s, handle, count, items);
    nest__from_home(trip);
    return result;
}

int nest_reply_bytes_to(nest_session *s, int handle, const void *p, size_t n) {
    nest_bytes item = {p, n};
    return nest_reply_to_list(s, handle, 1, &item);
}

int nest_reply_to(nest_session *s, int handle, const char *text) {
    nest_bytes item = nest_text(text);
    return nest_reply_to_list(s, handle, 1, &item);
}

int nest_vreplyf_to(nest_session *s, int handle, const char *format, va_list arguments) {
    char some[SECOND_FORMATTED], *text = some;
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(some, sizeof some, format, again);
    va_end(again);
    if (length >= (int)sizeof some) { /* before a wait: arguments may point into the message */
        text = malloc((size_t)length + 1);
        if (text == NULL) {
            return nest__cut_short(s, -ENOMEM);
        }
        vsnprintf(text, (size_t)length + 1, format, arguments);
    }
    int result = length < 0 ? -1 : nest_reply_bytes_to(s, handle, text, (size_t)length);
    if (text != some) {
        int error = errno;
        free(text);
        errno = error;
    }
    return result;
}

int nest_replyf_to(nest_session *s, int handle, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int result = nest_vreplyf_to(s, handle, format, arguments);
    va_end(arguments);
    return result;
}

__attribute__((noinline)) static int second_flush_to(nest_session *s, int handle) {
    struct nest__further *further = nest__second_output(s, handle);
    if (further == NULL) {
        return -1;
    }
    return nest__push(s, &further->chan) < 0 ? nest__second_gone(s, further) : 0;
}

int nest_flush_to(nest_session *s, int handle) {
    struct nest__trip *trip = nest__at_home(s);
    int result = second_flush_to(s, handle);
    nest__from_home(trip);
    return result;
}

/* -- the end of a connection */

__attribute__((noinline)) static int second_end_to(nest_session *s, int handle) {
    struct nest__further *further = nest__second_output(s, handle);
    if (further == NULL || nest__channel_drain(s, further, 0) < 0) {
        return -1;
    }
    further->ended = true;
    if (nest__chan_half_close(&further->chan) < 0) {
        return nest__second_gone(s, further);
    }
    while (!nest__chan_bye(&further->chan)) { /* what an encrypted one says last needs room, too */
        struct nest__member member = {.chan = &further->chan, .writable = true};
        if (nest__second_wait(s, &member, 1, nest__second_until(nest__config.write_timeout)) < 0) {
            return -1;
        }
    }
    return 0;
}

int nest_end_to(nest_session *s, int handle) {
    struct nest__trip *trip = nest__at_home(s);
    int result = second_end_to(s, handle);
    nest__from_home(trip);
    return result;
}

__attribute__((noinline)) static int second_close_to(nest_session *s, int handle, unsigned flags) {
    const struct nest__further *further = second_of(s, handle);
    return further == NULL ? second_fail(EBADF)
                           : nest__channel_close(s, further->number, (flags & NEST_CUT) != 0);
}

int nest_close_to(nest_session *s, int handle, unsigned flags) {
    struct nest__trip *trip = nest__at_home(s);
    int result = second_close_to(s, handle, flags);
    nest__from_home(trip);
    return result;
}

void nest_cancel_on_end(nest_session *s) {
    s->c0.state |= NEST__CHAN_MINDS;
}

__attribute__((noinline)) static int second_timeout_of(nest_session *s, int handle, uint32_t ms) {
    struct nest__further *further = nest__second_use(s, handle);
    if (further != NULL) {
        further->limit = ms == 0 || ms > NEST__LONGEST ? NEST__LONGEST : ms;
    }
    return further == NULL ? -1 : 0;
}

int nest_timeout_of(nest_session *s, int handle, uint32_t ms) {
    struct nest__trip *trip = nest__at_home(s);
    int result = second_timeout_of(s, handle, ms);
    nest__from_home(trip);
    return result;
}
