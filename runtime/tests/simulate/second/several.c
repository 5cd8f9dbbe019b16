/* several.c: what actions do with several connections at a time: $readAny and $relay.
 *
 * Called by acts.c. State: in the calls. A relay's bytes are checked where they arrive (sides.c);
 * here is what must hold when it is over. */
#include "second.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void several_any(struct call *call, struct side *open[16], unsigned count) {
    int handles[16];
    unsigned n = 0;
    act_begin(call, CALL_ANY, nest__config.idle_timeout);
    for (unsigned i = 0; i < count; i++) {
        if (sim_chance(60)) {
            call->on[n] = open[i];
            handles[n++] = open[i]->handle;
        }
    }
    if (n == 0 || sim_chance(50)) {
        call->on[n] = call->client;
        handles[n++] = NEST_CLIENT;
    }
    call->on_n = n;
    int handle = nest_read_any_list(call->session, n, handles), error = errno;
    call->wait = CALL_GOES;
    if (handle < 0 && act_fails(call)) {
        act_cut(call, CALL_ANY, "a wait for any", error);
        return;
    }
    bool lost = false;
    for (unsigned i = 0; i < n; i++) {
        struct side *side = call->on[i];
        lost = (side->kind != SIDE_CLIENT && side_is_lost(side)) || lost;
        if (handle > 0 && handles[i] == handle && side->taken == side->said_n && !side->eof &&
            !side->murky && !side->lost) {
            act_broken(call, "a wait for any gives one that has nothing", 0);
        }
    }
    if (handle < 0 && !lost && !(error == ETIMEDOUT && call->limited && act_is(call->until)) &&
        !side_pardoned(call->client)) {
        act_broken(call, "a wait for any", error);
    }
    if (handle == NEST_CLIENT && !call->client->murky && sim_chance(70)) {
        act_client(call);
    }
}

static void several_ended(struct call *call, struct side *from, struct side *to) {
    if (!from->eof || from->taken < from->said_n || to->got < to->want_n || !to->ended) {
        act_broken(call, "a relay is over, and has not handed on all", 0);
    }
}

/* The action was cut short: no side takes that for the end of all. */
static void several_broken(struct side *side, bool began) {
    if (began && side->kind != SIDE_CLIENT && !side->lost && !side->reset) {
        side->must_reset = side->dropped = true;
    }
    side->from = NULL;
    side->murky = side->dropped = true;
}

static void several_hand_on(struct call *call, struct side *a, struct side *b) {
    uint32_t ms = DRAW(0, 200, 1500, 5000), idle = ms != 0 ? ms : nest__config.idle_timeout;
    bool ended[2] = {a->ended, b->ended};
    act_begin(call, CALL_RELAY, idle);
    call->on[0] = a;
    call->on[1] = b;
    call->on_n = 2;
    if (sim.verbose) {
        printf("#   of %u and %u\n", (unsigned)a->who, (unsigned)b->who);
    }
    call->stirred = call->from;
    call->stalls = a->room != UINT64_MAX || b->room != UINT64_MAX;
    side_relay(a, b);
    side_relay(b, a);
    bool begins = !act_fails(call);
    int result = nest_relay(call->session, a->handle, b->handle, ms), error = errno;
    call->wait = CALL_GOES;
    if (sim.verbose) {
        printf("#   relay %d, %s\n", result, result < 0 ? strerror(error) : "whole");
    }
    if (result < 0 && act_fails(call)) {
        act_cut(call, CALL_RELAY, "a relay", error);
        several_broken(a, begins);
        several_broken(b, begins);
        return;
    }
    bool lost = a->kind != SIDE_CLIENT && side_is_lost(a);
    lost = (b->kind != SIDE_CLIENT && side_is_lost(b)) || lost;
    side_relayed(a, b);
    side_relayed(b, a);
    if (result == 0) {
        (void)(ended[1] ? (void)0 : several_ended(call, a, b));
        (void)(ended[0] ? (void)0 : several_ended(call, b, a));
    } else if (error == ETIMEDOUT && idle != 0 && !lost) {
        bool exact = second.later || call->stalls || act_is(nest__after(call->stirred, idle));
        if (!exact || nest__now() - call->from < idle) {
            act_broken(call, "a relay", error);
        }
    } else if (!((error == ECONNRESET || error == ECANCELED) && lost)) {
        act_broken(call, "a relay", error);
    }
}

void several_relay(struct call *call, struct side *open[16], unsigned count) {
    struct side *a = sim_chance(75) ? call->client : open[sim_random(count)];
    struct side *b = open[sim_random(count)];
    bool right = a != b && !a->murky && !b->murky && !a->lost && !b->lost &&
                 a->kind != SIDE_LISTENER && b->kind != SIDE_LISTENER && !a->ended;
    if (right && sim_chance(50)) {
        several_hand_on(call, b, a);
    } else if (right) {
        several_hand_on(call, a, b);
    }
}

/* What is an error at once. */
void several_wrong(struct call *call, struct side *side) {
    nest_session *s = call->session;
    int handles[2] = {side->handle, side->handle};
    if (side->lost || side_is_lost(side) || act_fails(call)) {
        return;
    }
    act_begin(call, CALL_GOES, 0);
    bool right = nest_relay(s, side->handle, side->handle, 1) < 0 && errno == EINVAL;
    int any = nest_read_any_list(s, 2, handles); /* the first may have something */
    right = right && (any == handles[0] || (any < 0 && errno == EINVAL));
    right = right && nest_read_any_list(s, 0, handles) < 0 && errno == EINVAL;
    if (side->kind == SIDE_LISTENER) {
        right = right && nest_relay(s, NEST_CLIENT, side->handle, 1) < 0 && errno == EINVAL;
        right = right && nest_read_from(s, side->handle, 1) == NULL && errno == EINVAL;
    } else {
        right = right && nest_accept(s, side->handle, 1) < 0 && errno == EINVAL;
    }
    if (call->stale != 0) {
        right = right && nest_reply_to(s, call->stale, "x") < 0 && errno == EBADF;
        right = right && nest_relay(s, NEST_CLIENT, call->stale, 1) < 0 && errno == EBADF;
    }
    if (!right && !side_pardoned(call->client)) {
        act_broken(call, "a directive with a wrong argument", errno);
    }
}
