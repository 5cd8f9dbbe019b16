/* any.c: waits for any of several channels of a connection, in one poll; see any.h.
 *
 * Called by blocking/channels.c. No state. Must not know the language. */
#include "any.h"
#include "../channel/channel.h"
#include "../channel/pool.h"
#include "blocking.h"
#include "channels.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

enum { ANY_OVER = POLLERR | POLLHUP | POLLRDHUP };

static bool any_over(struct nest__member *member, int32_t got) {
    member->got = got;
    member->came = true;
    return true;
}

/* The same through a pipe. Inline: servers without pipes have nothing of it, optimised or not. */
static inline bool any_splice(struct nest__member *member) {
    struct nest__queue *queue = &member->onto->queue;
    int64_t n = nest__splice_receive(member->pipe, member->chan, queue, member->room);
    if (n == 0) {
        member->chan->state |= NEST__CHAN_EOF;
    }
    return n != -EAGAIN && any_over(member, n == -ENOBUFS ? 0 : (int32_t)n);
}

/* One receive that does not wait. */
static bool any_receive(struct nest__member *member) {
    struct nest__chan *chan = member->chan;
    uint8_t *to = member->into;
    if (NEST__SPLICES && member->pipe != NULL) {
        return any_splice(member);
    }
    if (member->onto != NULL) {
        if (nest__queue_room(&member->onto->queue, member->room) < 0) {
            return any_over(member, -ENOMEM);
        }
        to = nest__queue_end(&member->onto->queue);
    }
    int64_t n = nest__chan_receive(chan, to, member->room, NEST__CHAN_NOW);
    if (n == -EAGAIN || n == -EINTR) {
        nest__chan_received(chan, false);
        return false;
    }
    if (n > 0) {
        nest__chan_received(chan, (uint32_t)n == member->room);
        if (member->onto != NULL) {
            nest__queue_added(&member->onto->queue, (size_t)n);
        }
    } else if (n == 0) {
        chan->state |= NEST__CHAN_EOF;
    }
    return any_over(member, (int32_t)n);
}

/* Sends, and looks for what has come by itself. */
static bool any_move(nest_session *s, struct nest__member *member) {
    struct nest__chan *chan = member->chan;
    if ((chan->state & (NEST__CHAN_GONE | NEST__CHAN_CUT)) != 0 ||
        (nest__out_queued(s, chan) > 0 && nest__push(s, chan) < 0)) {
        return any_over(member, -ECONNRESET);
    }
    bool came = member->drains && nest__out_queued(s, chan) <= member->mark && any_over(member, 0);
    if (member->room > 0 && ((chan->state & NEST__CHAN_MORE) != 0 || nest__chan_eager(chan))) {
        came = any_receive(member) || came;
    }
    return came;
}

static short any_events(const nest_session *s, const struct nest__member *member) {
    bool queued = nest__out_queued(s, member->chan) > 0;
    bool blocked = member->room > 0 && nest__chan_blocked(member->chan);
    return (short)(((member->room > 0 && !blocked) || member->readable ? POLLIN : 0) |
                   (queued || member->writable || blocked ? POLLOUT : 0));
}

/* What the poll has found for a member. */
static bool any_found(struct nest__member *member, short events, short found) {
    if (member->writable || member->readable) {
        return found != 0 && any_over(member, 0);
    }
    bool blocked = nest__chan_blocked(member->chan);
    if (member->room > 0 && (found & (POLLIN | ANY_OVER | (blocked ? POLLOUT : 0))) != 0) {
        return any_receive(member);
    }
    return events == 0 && (found & POLLERR) != 0 && any_over(member, -ECONNRESET);
}

/* One poll. True: something has come, or *error is set. *hung: a bit for each member whose both
 * directions have ended and which awaits nothing: it would be found again and again. */
static bool any_poll(nest_session *s, const struct nest__wait *wait, uint32_t deadline, bool first,
                     uint32_t *hung, int *error) {
    struct pollfd ready[2 * (NEST__FURTHER + 1) + 2];
    nfds_t n = 0;
    bool came = false, eager = false;
    for (unsigned i = 0; i < wait->count; i++) {
        const struct nest__chan *chan = wait->members[i].chan;
        short events = any_events(s, &wait->members[i]);
        bool passed = events == 0 && (*hung >> i & 1) != 0;
        eager = eager || ((events & POLLIN) != 0 && nest__chan_eager(chan));
        ready[n++] =
            (struct pollfd){.fd = passed ? -1 : nest__chan_descriptor(chan, (events & POLLIN) == 0),
                            .events = events};
    }
    nfds_t client = n;
    ready[n++] = (struct pollfd){.fd = first ? -1 : nest__chan_descriptor(&s->c0, true),
                                 .events = (short)((nest__out_queued(s, &s->c0) > 0 ? POLLOUT : 0) |
                                                   nest__blocking_errors(&s->c0))};
    ready[n++] = (struct pollfd){.fd = nest__wake_fd, .events = POLLIN};
    for (struct nest__further *further = nest__further_next(s, 0); further != NULL;
         further = nest__further_next(s, further->number)) {
        bool member = false;
        for (unsigned i = 0; i < wait->count; i++) {
            member = member || wait->members[i].chan == &further->chan;
        }
        if (!member && nest__out_queued(s, &further->chan) > 0) {
            ready[n++] = (struct pollfd){.fd = nest__chan_descriptor(&further->chan, true),
                                         .events = POLLOUT};
        }
    }
    int found = poll(ready, n, eager ? 0 : nest__blocking_left(deadline));
    if (found <= 0) {
        return false;
    }
    if (ready[client + 1].revents != 0) {
        uint64_t count;
        (void)!read(nest__wake_fd, &count, sizeof count);
    }
    if ((ready[client].revents & ANY_OVER) != 0) {
        *error = -ECONNRESET;
        return true;
    }
    for (unsigned i = 0; i < wait->count; i++) {
        bool ended = ready[i].events == 0 && (ready[i].revents & (POLLHUP | POLLERR)) == POLLHUP;
        *hung |= ended ? 1u << i : 0;
        came = any_found(&wait->members[i], ready[i].events, ready[i].revents) || came;
    }
    return came;
}

int nest__any_wait_here(nest_session *s, const struct nest__wait *wait) {
    bool first = false;
    uint32_t hung = 0;
    for (unsigned i = 0; i < wait->count; i++) {
        first = first || wait->members[i].chan == &s->c0;
    }
    for (;;) {
        uint32_t due;
        int error = 0;
        bool came = false;
        if (atomic_load(&nest__stop) >= NEST__CUTTING) {
            return -ECANCELED;
        }
        nest__several_move(s, &due);
        for (unsigned i = 0; i < wait->count; i++) {
            came = any_move(s, &wait->members[i]) || came;
        }
        if (!first && nest__push(s, &s->c0) < 0) {
            error = -ECONNRESET;
        } else if (came) {
            return 0;
        } else if (wait->deadline != 0 && nest__reached(wait->deadline, nest__now())) {
            return -ETIMEDOUT;
        } else if (any_poll(s, wait, nest__earlier(wait->deadline, due), first, &hung, &error) &&
                   error == 0) {
            return 0;
        }
        if (error != 0) {
            (void)nest__event(s, NEST__EVENT_RESET); /* an action runs: it is noted, and no more */
            return error;
        }
    }
}
