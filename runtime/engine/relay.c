/* relay.c: waits for several connections of a session: $relay, $readAny, transfers beside a client.
 *
 * Called by actions and by service/transfer. State: on the stack of the action; bytes are received
 * directly into the output queue of the other side. Must not know how bytes move.
 *
 * A side is read only while less than outputBuffer is queued for the other one. So a slow receiver
 * slows its sender, and both directions are independent of each other. */
#include "second.h"

#include <errno.h>
#include <string.h>

enum { RELAY_SIDES = 2 };

struct relay_side {
    struct nest__chan *chan;
    struct nest__further *further; /* NULL: the client */
    bool shut;                     /* it was told that no more follows */
};

static int relay_fail(int error) {
    errno = error;
    return -1;
}

static int relay_side(nest_session *s, int handle, struct relay_side *side) {
    *side = (struct relay_side){.chan = &s->c0};
    if (handle == NEST_CLIENT) {
        if (nest__input_fails(s)) {
            return -1;
        }
        return nest__borrow(s) == NULL ? nest__cut_short(s, -ENOMEM) : 0;
    }
    side->further = nest__second_use(s, handle);
    if (side->further == NULL) {
        return -1;
    }
    if (side->further->listens) {
        return relay_fail(EINVAL);
    }
    nest__second_restore(side->further);
    side->chan = &side->further->chan;
    side->shut = side->further->ended;
    return 0;
}

static struct nest__output *relay_output(nest_session *s, const struct relay_side *side) {
    return side->further == NULL ? &s->work->out : &side->further->out;
}

static bool relay_ended(const struct relay_side *side) {
    return (side->chan->state & NEST__CHAN_EOF) != 0;
}

/* -- bytes that were received before the relay began */

static const uint8_t *relay_unread(nest_session *s, const struct relay_side *side, uint32_t *n) {
    if (side->further == NULL) {
        return nest__unread_bytes(s, nest__acting(s)->window, n);
    }
    *n = side->further->in_n;
    return *n == 0 ? NULL : side->further->in + side->further->in_at;
}

static void relay_taken(nest_session *s, const struct relay_side *side, uint32_t n) {
    if (side->further == NULL) {
        nest__input_taken(s, n);
    } else {
        side->further->in_at += n;
        side->further->in_n -= n;
    }
}

/* `n` bytes were appended for this side. */
static void relay_added(nest_session *s, const struct relay_side *to, size_t n) {
    if (to->further == NULL) {
        nest__on_reply(s, nest__queue_end(&s->work->out.queue) - n, n);
    }
}

/* Hands on what one side has said, as far as there is space, and its end. 0 or -1. */
static int relay_hand_on(nest_session *s, const struct relay_side *from, struct relay_side *to) {
    struct nest__queue *queue = &relay_output(s, to)->queue;
    uint64_t limit = nest__config.output_buffer;
    uint32_t n;
    const uint8_t *p = relay_unread(s, from, &n);
    uint64_t room = queue->n < limit ? limit - queue->n : 0;
    uint32_t some = n < room ? n : (uint32_t)room;
    if (some > 0 && !to->shut) {
        if (nest__queue_room(queue, some) < 0) {
            return nest__cut_short(s, -ENOMEM);
        }
        memcpy(nest__queue_end(queue), p, some);
        nest__queue_added(queue, some);
        relay_added(s, to, some);
        relay_taken(s, from, some);
    }
    if (n == some && relay_ended(from) && queue->n == 0 && !to->shut) {
        to->shut = true;
        if (to->further != NULL) {
            to->further->ended = true;
        }
        (void)nest__chan_half_close(to->chan); /* if it is gone, that is noticed by the next wait */
    }
    return 0;
}

/* -- the wait */

static struct nest__member relay_member(nest_session *s, const struct relay_side *side,
                                        const struct relay_side *other) {
    uint64_t limit = nest__config.output_buffer, queued = relay_output(s, side)->queue.n;
    uint64_t onto = relay_output(s, other)->queue.n;
    uint32_t unread, behind;
    (void)relay_unread(s, side, &unread);
    (void)relay_unread(s, other, &behind);
    struct nest__member member = {.chan = side->chan};
    if (!relay_ended(side) && unread == 0 && onto < limit && !other->shut) {
        uint64_t room = limit - onto;
        member.onto = relay_output(s, other);
        member.room = room < NEST__VISIT_IN ? (uint32_t)room : NEST__VISIT_IN;
    }
    bool last = relay_ended(other) && behind == 0; /* its end is handed on behind the last byte */
    member.drains = queued > 0 && (last || behind > 0 || queued >= limit);
    member.mark = last ? 0 : limit / 2;
    return member;
}

/* What a side has brought. 0 or -1. */
static int relay_brought(nest_session *s, const struct nest__member *member,
                         const struct relay_side *side, const struct relay_side *other) {
    if (member->got == -ENOMEM) {
        return nest__cut_short(s, -ENOMEM);
    }
    if (member->got < 0) {
        return side->further == NULL ? nest__cut_short(s, -ECONNRESET)
                                     : nest__second_gone(s, side->further);
    }
    if (member->got > 0) {
        relay_added(s, other, (size_t)member->got);
        if (side->further == NULL) {
            nest__acting(s)->took += (uint64_t)member->got;
            nest__on_read(s, nest__queue_end(&relay_output(s, other)->queue) - member->got,
                          (uint32_t)member->got);
        }
    }
    return 0;
}

/* Until both have ended. 0 or -1. */
static int relay_run(nest_session *s, struct relay_side sides[RELAY_SIDES], uint32_t idle) {
    for (;;) {
        struct nest__member members[RELAY_SIDES];
        for (int i = 0; i < RELAY_SIDES; i++) {
            if (relay_hand_on(s, &sides[i], &sides[1 - i]) < 0) {
                return -1;
            }
        }
        if (sides[0].shut && sides[1].shut) {
            return 0;
        }
        for (int i = 0; i < RELAY_SIDES; i++) {
            members[i] = relay_member(s, &sides[i], &sides[1 - i]);
        }
        if (nest__second_wait(s, members, RELAY_SIDES, nest__second_until(idle)) < 0) {
            return -1;
        }
        for (int i = 0; i < RELAY_SIDES; i++) {
            if (members[i].came && relay_brought(s, &members[i], &sides[i], &sides[1 - i]) < 0) {
                return -1;
            }
        }
    }
}

__attribute__((noinline)) static int relay_relay(nest_session *s, int a, int b, uint32_t ms) {
    struct relay_side sides[RELAY_SIDES];
    if (relay_side(s, a, &sides[0]) < 0 || relay_side(s, b, &sides[1]) < 0) {
        return -1;
    }
    if (sides[0].chan == sides[1].chan) {
        return relay_fail(EINVAL);
    }
    uint8_t minds = s->c0.state & NEST__CHAN_MINDS;
    s->c0.state &= (uint8_t)~NEST__CHAN_MINDS; /* the end of a side is handed on */
    int result = relay_run(s, sides, ms != 0 ? ms : nest__idle_limit(s));
    s->c0.state |= minds;
    return result;
}

int nest_relay(nest_session *s, int a, int b, uint32_t ms) {
    struct nest__trip *trip = nest__at_home(s);
    int result = relay_relay(s, a, b, ms);
    nest__from_home(trip);
    return result;
}

/* -- $readAny */

enum { ANY_MOST = NEST__FURTHER + 1 };

/* Whether a read from it would not wait; then *handle is the answer. Otherwise a member that
 * receives behind its unread bytes. 0 or -1. */
static int any_member(nest_session *s, int handle, struct nest__member *member, bool *ready) {
    if (handle == NEST_CLIENT) {
        uint32_t n;
        if (nest__input_fails(s)) {
            return -1;
        }
        (void)nest__unread_bytes(s, nest__acting(s)->window, &n);
        *ready = n > 0 || (s->c0.state & NEST__CHAN_EOF) != 0;
        *member = (struct nest__member){.chan = &s->c0};
        return 0;
    }
    struct nest__further *further = nest__second_use(s, handle);
    if (further == NULL) {
        return -1;
    }
    *member = (struct nest__member){.chan = &further->chan, .readable = further->listens};
    if (!further->listens) {
        nest__second_restore(further);
        *ready = further->in_n > 0 || (further->chan.state & NEST__CHAN_EOF) != 0;
    }
    return 0;
}

/* Where its bytes are received; after everything that may wait or move them. */
static int any_space(nest_session *s, struct nest__member *member) {
    struct nest__further *further = nest__further_of(s, member->chan);
    if (further != NULL) {
        if (further->listens) {
            return 0;
        }
        if (nest__second_space(further, further->in_n + 1) < 0) {
            return -ENOMEM;
        }
        member->into = further->in + further->in_at + further->in_n;
        member->room = further->in_cap - 1 - further->in_at - further->in_n;
        return 0;
    }
    if (nest__own(s, NULL) < 0 || nest__rest_behind(s, nest__acting(s), NEST__BEHIND_REST) < 0) {
        return -ENOMEM;
    }
    const struct nest__work *work = s->work;
    member->into = work->rest + work->rest_at + work->rest_n;
    member->room = work->rest_cap - work->rest_at - work->rest_n;
    return 0;
}

/* Takes what has come for a member. 0 or -1. */
static int any_came(nest_session *s, const struct nest__member *member) {
    struct nest__further *further = nest__further_of(s, member->chan);
    if (further == NULL) {
        s->work->rest_n += member->got > 0 ? (uint32_t)member->got : 0;
        return member->got < 0 ? nest__cut_short(s, -ECONNRESET) : 0;
    }
    further->in_n += member->got > 0 ? (uint32_t)member->got : 0;
    if (member->got < 0) {
        nest__chan_lost(s, member->chan, NEST__CHAN_GONE); /* the next read says so */
    }
    return 0;
}

__attribute__((noinline)) static int relay_read_any_list(nest_session *s, size_t count,
                                                         const int handles[]) {
    struct nest__member members[ANY_MOST];
    if (count == 0 || count > ANY_MOST) {
        return relay_fail(EINVAL);
    }
    for (size_t i = 0; i < count; i++) {
        bool ready = false;
        for (size_t k = 0; k < i; k++) {
            if (handles[k] == handles[i]) { /* both would receive into the same space */
                return relay_fail(EINVAL);
            }
        }
        if (any_member(s, handles[i], &members[i], &ready) < 0) {
            return -1;
        }
        if (ready) {
            return handles[i];
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (any_space(s, &members[i]) < 0) {
            return nest__cut_short(s, -ENOMEM);
        }
    }
    if (nest__second_wait(s, members, (unsigned)count, nest__second_until(nest__idle_limit(s))) <
        0) {
        return -1;
    }
    int first = -1;
    for (size_t i = 0; i < count; i++) {
        if (members[i].came && any_came(s, &members[i]) < 0) {
            return -1;
        }
        first = members[i].came && first == -1 ? handles[i] : first;
    }
    return first;
}

int nest_read_any_list(nest_session *s, size_t count, const int handles[]) {
    struct nest__trip *trip = nest__at_home(s);
    int result = relay_read_any_list(s, count, handles);
    nest__from_home(trip);
    return result;
}

/* -- transfers */

int nest__second_beside_client(nest_session *s, struct nest__member *member, uint32_t deadline) {
    struct nest__member both[2] = {*member};
    bool said = false;
    if (any_member(s, NEST_CLIENT, &both[1], &said) < 0) {
        return -1;
    }
    if (said) {
        return 1;
    }
    if (any_space(s, &both[1]) < 0) {
        return nest__cut_short(s, -ENOMEM);
    }
    if (nest__second_wait(s, both, 2, deadline) < 0 ||
        (both[1].came && any_came(s, &both[1]) < 0)) {
        return -1;
    }
    *member = both[0];
    return both[0].came ? 0 : 1;
}
