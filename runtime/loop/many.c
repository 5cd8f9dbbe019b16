/* many.c: waits for any of several channels; see many.h.
 *
 * Called by the other files of loop/. No state: the members are on the stack of the action that
 * waits. Must not know the language, nor how bytes move. */
#include "many.h"
#include "../channel/queue.h"
#include "../channel/splice.h"
#include "channels.h"

#include <errno.h>
#include <string.h>

struct nest__member *nest__member_of(const nest_session *s, const struct nest__chan *chan) {
    if ((s->flags & NEST__WAITING) == 0) {
        return NULL;
    }
    const struct nest__wait *wait = ((const struct nest__waiter *)s->waiter)->wait;
    for (unsigned i = 0; wait->what == NEST__ANY && i < wait->count; i++) {
        if (wait->members[i].chan == chan) {
            return &wait->members[i];
        }
    }
    return NULL;
}

static bool many_over(struct nest__member *member, int32_t got) {
    member->got = got;
    member->came = true;
    return true;
}

/* -- input */

/* No memory: the poller lends its own, and the bytes are lost with the wait. */
uint32_t nest__many_space(struct nest__member *member, uint8_t **p) {
    uint32_t room = member->room < NEST__VISIT_IN ? member->room : NEST__VISIT_IN;
    *p = member->into;
    if (member->onto != NULL && nest__queue_room(&member->onto->queue, room) == 0) {
        *p = nest__queue_end(&member->onto->queue);
    }
    return room;
}

/* Takes received bytes, or the end of input. */
static bool many_take(struct nest__member *member, int64_t n, const struct nest__window *window) {
    uint8_t *to = member->into;
    if (n > 0) {
        nest__loop_spend((uint64_t)n);
        if (member->onto != NULL) {
            struct nest__queue *queue = &member->onto->queue;
            if (nest__queue_room(queue, (size_t)n) < 0) {
                return many_over(member, -ENOMEM);
            }
            to = nest__queue_end(queue);
            nest__queue_added(queue, (size_t)n);
        }
        if (window->p != to) {
            memcpy(to, window->p, (size_t)n);
        }
    } else if (n == 0) {
        member->chan->state |= NEST__CHAN_EOF;
    }
    return many_over(member, (int32_t)n);
}

/* Input goes through a pipe, and the poller has left it. */
static bool many_pipes(const struct nest__member *member) {
    return member->pipe != NULL && member->room > 0 && member->chan->awaits >= NEST__AWAIT_LEFT;
}

/* Receives into the pipe. Inline: servers without pipes have nothing of it, optimised or not. */
static inline bool many_splice(struct nest__member *member) {
    struct nest__chan *chan = member->chan;
    struct nest__queue *queue = &member->onto->queue;
    int64_t n = nest__splice_receive(member->pipe, chan, queue, member->room);
    if (n > 0) {
        nest__loop_spend((uint64_t)n);
    } else if (n == 0) {
        chan->state |= NEST__CHAN_EOF;
    }
    return n != -EAGAIN && many_over(member, n == -ENOBUFS ? 0 : (int32_t)n);
}

/* Looks without waiting, where bytes may be left over from the last receive. */
static bool many_look(nest_session *s, struct nest__member *member) {
    if (member->room == 0 || (member->chan->state & NEST__CHAN_MORE) == 0 ||
        nest__loop.spent > NEST__VISIT_OUT) {
        return false;
    }
    if (NEST__SPLICES && many_pipes(member)) {
        return many_splice(member);
    }
    struct nest__window window = {NULL, 0, false};
    int64_t n = nest__poller_receive(s, member->chan, &window);
    return n != -EAGAIN && many_take(member, n, &window);
}

/* -- output */

/* Sends. True: something has come. */
static bool many_move(nest_session *s, struct nest__member *member) {
    if (nest__out_queued(s, member->chan) > 0 && nest__push(s, member->chan) < 0) {
        return many_over(member, -ECONNRESET);
    }
    return member->drains && nest__out_queued(s, member->chan) <= member->mark &&
           many_over(member, 0);
}

/* -- the wait */

bool nest__many_ended(nest_session *s, const struct nest__wait *wait) {
    bool ended = false;
    for (unsigned i = 0; i < wait->count; i++) {
        ended = many_move(s, &wait->members[i]) || ended;
    }
    for (unsigned i = 0; i < wait->count; i++) {
        ended = many_look(s, &wait->members[i]) || ended;
    }
    return ended;
}

static bool many_await(nest_session *s, const struct nest__member *member) {
    bool queued = nest__out_queued(s, member->chan) > 0, left = member->pipe != NULL;
    enum nest__await input = left ? NEST__AWAIT_LEFT : NEST__AWAIT_INPUT;
    enum nest__await both = left ? NEST__AWAIT_LEFT_BOTH : NEST__AWAIT_BOTH;
    return nest__poller_await(s, member->chan,
                              member->writable             ? NEST__AWAIT_OUTPUT
                              : member->readable           ? NEST__AWAIT_READY
                              : queued && member->room > 0 ? both
                              : queued                     ? NEST__AWAIT_OUTPUT
                              : member->room > 0           ? input
                                                           : NEST__AWAIT_ERRORS);
}

bool nest__many_await(nest_session *s, const struct nest__wait *wait) {
    bool first = false;
    for (unsigned i = 0; i < wait->count; i++) {
        first = first || wait->members[i].chan == &s->c0;
        if (!many_await(s, &wait->members[i])) {
            return false;
        }
    }
    return first || nest__channels_first(s) == 0;
}

nest_session *nest__many_completed(nest_session *s, struct nest__member *member,
                                   const struct nest__completion *done) {
    bool over;
    if (nest__loop.cut) {
        return nest__wait_over(s, -ECANCELED);
    }
    if (nest__name_operation(done->name) == NEST__OP_RECEIVE) {
        over = many_take(member, done->result, &done->window);
    } else if (done->result < 0) {
        over = many_over(member, -ECONNRESET);
    } else if (member->writable || member->readable) {
        over = many_over(member, 0);
    } else {
        over = many_move(s, member);
        over = (NEST__SPLICES && member->got == 0 && many_pipes(member) && many_splice(member)) ||
               over;
        if (!over && !many_await(s, member)) {
            return nest__wait_over(s, -ENOMEM);
        }
    }
    return over ? nest__wait_over(s, 0) : NULL;
}
