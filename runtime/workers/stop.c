/* stop.c: the policy of a stop, for every model.
 *
 * Called by loop/, blocking/ and workers/. No state. Must not know where requests come from, what
 * time it is, nor how sessions are told. */
#include "stop.h"
#include "../platform/platform.h"

/* Behind the cut: ms for what cannot be interrupted. */
enum {
    STOP_GRACE_LOOP_MS = 1000, /* helper threads that work for sessions */
    STOP_GRACE_MS = 2000,      /* actions that do not look at their result, or compute */
    STOP_GRACE_MANY_MS = 4000, /* a worker with one of these graces ends before */
};

/* A loop has told every session of the cut when it waits for helpers, so a third request can change
 * nothing for a client. The supervisor of such a worker only passes it on. */
static bool stop_heeds_third(enum nest__stop_role role) {
    return role != NEST__STOP_LOOP && role != NEST__STOP_CHILD_MANY;
}

enum nest__stop_phase nest__stop_next(enum nest__stop_role role, enum nest__stop_phase phase,
                                      enum nest__stop_event event) {
    switch (phase) {
    case NEST__SERVING:
        return event == NEST__STOP_REQUESTED ? NEST__DRAINING : NEST__SERVING;
    case NEST__DRAINING:
        return NEST__CUTTING;
    case NEST__CUTTING:
        return event == NEST__STOP_LATE || stop_heeds_third(role) ? NEST__FINISHED : NEST__CUTTING;
    case NEST__FINISHED:
        break;
    }
    return NEST__FINISHED;
}

uint32_t nest__stop_lasts(enum nest__stop_role role, enum nest__stop_phase phase) {
    if (phase == NEST__DRAINING) {
        return nest__config.drain_timeout;
    }
    if (phase != NEST__CUTTING) {
        return 0;
    }
    return role == NEST__STOP_LOOP         ? STOP_GRACE_LOOP_MS
           : role == NEST__STOP_CHILD_MANY ? STOP_GRACE_MANY_MS
                                           : STOP_GRACE_MS;
}

enum nest__stop_phase nest__stop_passed(uint32_t requests) {
    return requests > 1 ? NEST__CUTTING : NEST__DRAINING;
}

bool nest__stop_move(struct nest__stop_state *stop, enum nest__stop_event event, uint64_t now) {
    enum nest__stop_phase before = stop->phase;
    stop->phase = nest__stop_next(stop->role, before, event);
    if (stop->phase != before) {
        uint32_t lasts = nest__stop_lasts(stop->role, stop->phase);
        stop->until = lasts == 0 ? 0 : now + lasts;
    }
    return stop->phase != before;
}

int nest__stop_left(const struct nest__stop_state *stop, uint64_t now) {
    if (stop->until == 0) {
        return -1;
    }
    return stop->until > now ? (int)(stop->until - now) : 0;
}

enum nest__stop_order nest__stop_order(enum nest__stop_phase phase, struct nest__stop_session s) {
    if (phase == NEST__SERVING) {
        return NEST__STOP_NO_ORDER;
    }
    if (phase >= NEST__CUTTING && (s.told || s.owes)) {
        return NEST__STOP_CUT;
    }
    if (s.told) {
        return NEST__STOP_NO_ORDER;
    }
    return s.looked ? NEST__STOP_DRAIN : NEST__STOP_LOOK;
}

void nest__stop_abandon(uint32_t actions) {
    nest__say("%u %s did not end in time; the server ends anyway", (unsigned)actions,
              actions == 1 ? "action" : "actions");
}

int nest__stop_status(enum nest__stop_phase phase) {
    return phase == NEST__FINISHED ? NEST__ABANDONED : nest__cut() > 0;
}
