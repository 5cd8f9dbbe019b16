/* sides.c: the connections of a session, that of its client and the second ones: what the other
 * side of each must get, and why it may end.
 *
 * Called by the other files, and by the script for what a channel carries. State: the sides that
 * are not closed, in second.sides. One may outlive the conversation that has opened it: its output
 * still leaves. While a relay runs, what comes behind the bytes that were wanted must be what the
 * other side of the relay has said. */
#include "second.h"

#include <stdlib.h>
#include <string.h>

_Noreturn void side_broken(const struct side *side, const char *what) {
    static const char *const kinds[] = {"client", "dialled", "accepted", "listener", "lookup"};
    sim_broken(NULL, "%s %u, of conversation %u: %s", kinds[side->kind], (unsigned)side->who,
               side->call == NULL ? 0 : (unsigned)side->call->who, what);
}

struct side *side_make(uint32_t who, enum side_kind kind, struct call *call) {
    struct side *side = (calloc)(1, sizeof *side);
    *side = (struct side){.next = second.sides,
                          .who = who,
                          .kind = kind,
                          .call = call,
                          .session = call == NULL ? NULL : call->session,
                          .faults = nest__faults_struck,
                          .room = UINT64_MAX};
    second.sides = side;
    second.sides_n++;
    return side;
}

struct side *side_find(uint32_t who) {
    struct side *side = second.sides;
    while (side != NULL && side->who != who) {
        side = side->next;
    }
    if (side == NULL) {
        sim_broken(NULL, "something comes of channel %u, which is closed", (unsigned)who);
    }
    return side;
}

struct nest__further *side_further(const struct side *side) {
    struct nest__further *further =
        side->session == NULL ? NULL : nest__further_next(side->session, 0);
    while (further != NULL && further->chan.fd != (int32_t)side->who) {
        further = nest__further_next(side->session, further->number);
    }
    return further;
}

uint64_t side_queued(const struct side *side) {
    if (side->kind == SIDE_CLIENT) {
        const nest_session *s = side->session;
        return s == NULL || s->c0.fd != (int32_t)side->who ? 0 : nest__out_queued(s, &s->c0);
    }
    const struct nest__further *further = side_further(side);
    return further == NULL ? 0 : further->out.queue.n;
}

/* Bytes in flight may still have come after it was cut. */
bool side_late(const struct side *side, bool must) {
    uint32_t limit = nest__config.write_timeout;
    uint32_t past = nest__now() - (second.later && !must ? side->filled : side->moved);
    return limit != 0 && (must ? past > limit + 1 : past >= limit);
}

static void side_filled(struct side *side) {
    if (side->got == side->want_n && side_queued(side) == 0) {
        side->filled = side->moved = nest__now();
    }
}

void side_want(struct side *side, const uint8_t *bytes, uint32_t n) {
    side_filled(side);
    if (side->want_n + n > side->want_cap) {
        side->want_cap = (side->want_n + n) * 2;
        side->want = (realloc)(side->want, side->want_cap);
    }
    memcpy(side->want + side->want_n, bytes, n);
    side->want_n += n;
}

void side_say(struct side *side, uint8_t byte) {
    if (side->said_n == side->said_cap) {
        side->said_cap = side->said_cap * 2 + 1000;
        side->said = (realloc)(side->said, side->said_cap);
    }
    side->said[side->said_n++] = byte;
}

bool side_stands_unread(const struct side *side) {
    const struct script_client *there = script_client(side->who);
    bool begun = !side->pends || side->kind == SIDE_LOOKUP;
    return begun && there != NULL && (there->n > 0 || side->eof || side->reset);
}

/* -- what the channel carries */

/* The next byte of the relay. */
static void side_next(struct side *side) {
    struct side *from = side->from;
    if (from == NULL || from->taken == from->said_n) {
        side_broken(side, "it gets bytes that nobody has said");
    }
    side_want(side, &from->said[from->taken++], 1);
}

int nest__command_out(uint32_t who, const uint8_t *bytes, size_t n) {
    struct side *side = side_find(who);
    bool given_up = side->lost || side->must_reset;
    if (side->reset || side->ended || (given_up && !second.later) || n > side->room) {
        side_broken(side, side->ended ? "it gets bytes behind the end"
                                      : "it gets bytes that it should not");
    }
    for (size_t i = 0; i < n && !given_up; i++) { /* else they were in flight */
        if (side->got == side->want_n) {
            side_next(side);
        }
        if (bytes[i] != side->want[side->got]) {
            side_broken(side, "it gets other bytes");
        }
        side->got++;
    }
    side->room -= side->room == UINT64_MAX ? 0 : n;
    side->moved = nest__now();
    return 0;
}

int side_half_close(const struct nest__chan *chan) {
    struct side *side = side_find((uint32_t)chan->fd);
    if (side->reset) {
        return -1;
    }
    if (side->ended) {
        side_broken(side, "it is told its end twice");
    }
    if (side->got < side->want_n || side_queued(side) > 0) {
        side_broken(side, "it is told its end before all has come");
    }
    const struct side *from = side->from;
    if (from != NULL && (!from->eof || from->taken < from->said_n)) {
        side_broken(side, "a relay hands on an end that has not come");
    }
    side->ended = true;
    return 0;
}

void side_relay(struct side *side, struct side *from) {
    side_filled(side);
    side->from = from;
}

/* What the relay has taken and not delivered is queued. */
void side_relayed(struct side *side, struct side *from) {
    uint64_t total = side->got + side_queued(side);
    side->from = from;
    if (side->lost || side->reset || side->must_reset) {
        from->murky = true;
    } else if (total < side->want_n && !side_pardoned(side)) {
        side_broken(side, "a relay has dropped what was queued");
    }
    while (!from->murky && side->want_n < total) {
        side_next(side);
    }
    side->from = NULL;
}

static void side_free(struct side *side) {
    struct side **at = &second.sides;
    while (*at != side) {
        at = &(*at)->next;
    }
    *at = side->next;
    second.sides_n--;
    (free)(side->said);
    (free)(side->want);
    (free)(side);
}

/* That of the client: the others are left to deliver. */
static void side_client_closed(struct side *side) {
    struct call *call = side->call, **at = &second.calls;
    if (call->session != NULL && (call->starts != 1 || call->ends != 1 || call->acting)) {
        side_broken(side, "it is closed, and its START or END has not run once");
    }
    if (call->session == NULL && !side_pardoned(side)) {
        side_broken(side, "it is closed, and was not served");
    }
    while (*at != call) {
        at = &(*at)->next;
    }
    *at = call->next;
    for (struct side *other = second.sides; other != NULL; other = other->next) {
        if (other->call == call) {
            other->call = NULL;
        }
    }
    (free)(call);
    sim.live--;
    sim.closed++;
}

static bool side_may_be_cut(const struct side *side) {
    return side->dropped || side->lost || side->must_reset || side->reset || nest__loop.cut ||
           side_pardoned(side) || side_late(side, false);
}

int nest__command_closed(uint32_t who, bool cut) {
    struct side *side = side_find(who);
    if (sim.verbose) {
        printf("%u is %s\n", (unsigned)who, cut ? "cut" : "closed");
    }
    bool ended = side->call == NULL || side->call->over;
    bool kept = side->handle > 0 && side->kind != SIDE_CLIENT;
    if (kept && !side->closing && !ended) {
        side_broken(side, "it is closed by nobody");
    }
    if (side->kind == SIDE_CLIENT || kept) {
        if (cut && !side_may_be_cut(side) && side->kind != SIDE_LISTENER) {
            side_broken(side, "it is reset without a reason");
        }
        bool misses = side->dropped || side->lost || side->reset || side_pardoned(side);
        if (!cut && !misses && side->got < side->want_n) {
            side_broken(side, "it is closed, and has not got everything");
        }
    }
    if (!cut && side->must_reset && !side->reset) {
        side_broken(side, "its relay was cut off, and it takes the end for that of all");
    }
    if (side->foreign && !side->never && !cut) {
        side_broken(side, "it is a stranger, and is not reset");
    }
    if (side->kind == SIDE_CLIENT) {
        side_client_closed(side);
    }
    side_free(side);
    return 0;
}

/* -- after each step */

bool side_is_lost(struct side *side) {
    const struct nest__further *further = side_further(side);
    const nest_session *s = side->session;
    const struct nest__chan *chan = side->kind != SIDE_CLIENT
                                        ? (further == NULL ? NULL : &further->chan)
                                    : s == NULL ? NULL
                                                : &s->c0;
    bool lost = chan != NULL && chan->fd == (int32_t)side->who &&
                (chan->state & (NEST__CHAN_GONE | NEST__CHAN_CUT)) != 0;
    bool minded = side->kind == SIDE_CLIENT && side->call->minds && side->eof;
    if (lost && !side->lost && !side->dropped && !minded && !side_may_be_cut(side)) {
        side_broken(side, "it is given up without a reason");
    }
    side->lost = side->lost || lost;
    side->dropped = side->dropped || lost;
    return lost;
}

void side_check(struct side *side) {
    const struct call *call = side->call;
    uint64_t queued = side_queued(side);
    bool ended = call == NULL || (call->over && !call->acting);
    bool connects = side->pends && side->kind == SIDE_DIALLED;
    if (side->kind == SIDE_LOOKUP || side->kind == SIDE_LISTENER) {
        queued = 0;
    }
    if (queued > 0 && !connects && (side->room > 0 || side->reset)) {
        side_broken(side, "its output does not leave");
    }
    if (queued > nest__config.output_buffer) {
        side_broken(side, "more is queued than outputBuffer");
    }
    if (queued > 0 && side_late(side, true)) {
        side_broken(side, "it takes nothing, and is not cut");
    }
    if (side->from == NULL && !side->lost && !side_pardoned(side) && side->session != NULL &&
        queued > side->want_n - side->got) {
        side_broken(side, "more is queued than was written");
    }
    if (side->kind != SIDE_CLIENT && (side->closing || ended) && queued == 0) {
        side_broken(side, "it has nothing left to deliver, and is not closed");
    }
    if (side->kind == SIDE_DIALLED && side->handle == 0 && call != NULL &&
        call->wait != CALL_DIAL) {
        side_broken(side, "its dial is over, and it is not closed");
    }
    if (nest__loop.cut && ended && side->kind != SIDE_CLIENT) {
        side_broken(side, "drainTimeout is over, and it is not cut");
    }
}
