/* relay.c: hands on what two connections of a session say: $relay.
 *
 * Called by actions. State: on the stack of the action; bytes are received directly into the output
 * queue of the other side, or into a pipe that this queue sends. Must not know how bytes move.
 *
 * A side is read only while less than outputBuffer is queued for the other one. So a slow receiver
 * slows its sender, and both directions are independent of each other.
 *
 * A direction gets a pipe when it has moved some bytes without: for few of them, opening the pipe
 * costs more than copying. It is closed with the relay; the queue then gets the bytes in it. */
#include "second.h"

#include <errno.h>
#include <string.h>

enum { RELAY_SIDES = 2, RELAY_COPIED = 128 * 1024 /* of a direction without a pipe */ };

struct relay_side {
    struct nest__chan *chan;
    struct nest__further *further; /* NULL: the client */
    bool shut;                     /* it was told that no more follows */
    struct nest__splice pipe;      /* from this side to the other one */
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

/* `n` bytes were appended for this side. Nobody looks at those in a pipe: a server with a trace has
 * none. */
static void relay_added(nest_session *s, const struct relay_side *to, size_t n) {
    if (to->further == NULL) {
        const struct nest__item *last = s->work->out.queue.last;
        bool bytes = last->kind == NEST__ITEM_BYTES;
        nest__on_reply(s, bytes ? nest__queue_end(&s->work->out.queue) - n : NULL, n);
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
        bool told = nest__chan_half_close(to->chan) == 0; /* a client's reset ends the next wait */
        to->shut = true;
        if (to->further != NULL) {
            to->further->ended = true;
            return told ? 0 : nest__second_gone(s, to->further); /* perhaps no wait follows */
        }
    }
    return 0;
}

/* -- pipes */

/* The pipe that takes what this side sends; NULL: it is copied. */
static struct nest__splice *relay_pipe(struct relay_side *side, const struct relay_side *other) {
    struct nest__splice *pipe = &side->pipe;
    if (!NEST__SPLICES || pipe->refused || (!pipe->open && pipe->copied < RELAY_COPIED)) {
        return NULL;
    }
    if (nest__chan_apart(side->chan) || nest__chan_apart(other->chan)) {
        pipe->refused = true;
    } else if (!pipe->open) {
        nest__splice_open(pipe, side->chan, other->chan);
    }
    return pipe->refused ? NULL : pipe;
}

/* A pipe that was full may be filled again. */
static void relay_drained(nest_session *s, struct relay_side *side, const struct relay_side *to) {
    if (side->pipe.full && relay_output(s, to)->queue.n <= side->pipe.mark) {
        side->pipe.full = false;
    }
}

int nest__out_copy(nest_session *s, struct nest__chan *chan) {
    struct nest__further *further = nest__further_of(s, chan);
    return nest__splice_refuse(further == NULL ? &s->work->out.queue : &further->out.queue);
}

/* Closes the pipes; errno stays. The result of the relay. */
static int relay_close(nest_session *s, struct relay_side sides[RELAY_SIDES], int result) {
    int error = errno;
    for (int i = 0; i < RELAY_SIDES; i++) {
        const struct relay_side *to = &sides[1 - i];
        if (nest__splice_close(&sides[i].pipe, &relay_output(s, to)->queue) < 0) {
            if (to->further != NULL) { /* nothing may follow where bytes are missing */
                nest__chan_lost(s, to->chan, NEST__CHAN_CUT);
            }
            result = nest__cut_short(s, -ENOMEM);
            error = errno;
        }
    }
    errno = error;
    return result;
}

/* -- the wait */

static struct nest__member relay_member(nest_session *s, struct relay_side *side,
                                        const struct relay_side *other) {
    uint64_t limit = nest__config.output_buffer, queued = relay_output(s, side)->queue.n;
    uint64_t onto = relay_output(s, other)->queue.n;
    uint32_t unread, behind;
    (void)relay_unread(s, side, &unread);
    (void)relay_unread(s, other, &behind);
    struct nest__member member = {.chan = side->chan};
    if (!relay_ended(side) && unread == 0 && onto < limit && !other->shut && !side->pipe.full) {
        uint64_t room = limit - onto;
        member.pipe = relay_pipe(side, other);
        member.onto = relay_output(s, other);
        member.room = room < NEST__VISIT_IN ? (uint32_t)room : NEST__VISIT_IN;
    }
    bool last = relay_ended(other) && behind == 0; /* its end is handed on behind the last byte */
    member.drains = queued > 0 && (last || behind > 0 || queued >= limit);
    member.mark = last ? 0 : limit / 2;
    if (other->pipe.full) {
        member.drains = true;
        member.mark = other->pipe.mark;
    }
    return member;
}

/* What a side has brought. 0 or -1. */
static int relay_brought(nest_session *s, const struct nest__member *member,
                         struct relay_side *side, const struct relay_side *other) {
    if (member->got == -ENOMEM) {
        return nest__cut_short(s, -ENOMEM);
    }
    if (member->got < 0) {
        return side->further == NULL ? nest__cut_short(s, -ECONNRESET)
                                     : nest__second_gone(s, side->further);
    }
    if (member->got > 0) {
        side->pipe.copied += (uint64_t)member->got;
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
            relay_drained(s, &sides[i], &sides[1 - i]);
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

/* The action was cut short: no side may take this for the end of all. */
static void relay_break(nest_session *s, const struct relay_side sides[RELAY_SIDES]) {
    for (int i = 0; i < RELAY_SIDES; i++) {
        if (sides[i].further != NULL) {
            nest__chan_lost(s, sides[i].chan, NEST__CHAN_CUT);
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
    result = relay_close(s, sides, result);
    if (nest__fails(s, nest__acting(s))) {
        int error = errno;
        relay_break(s, sides);
        errno = error;
    }
    s->c0.state |= minds;
    return result;
}

int nest_relay(nest_session *s, int a, int b, uint32_t ms) {
    struct nest__trip *trip = nest__at_home(s);
    int result = relay_relay(s, a, b, ms);
    nest__from_home(trip);
    return result;
}
