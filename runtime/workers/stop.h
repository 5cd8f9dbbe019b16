/* stop.h: the policy of a stop: its phases, what leads from one to the next, and what a session is
 * told in each.
 *
 * A server that ends goes through these phases:
 *
 *     serving    No stop was requested.
 *     draining   Lasts drainTimeout. Only clients that already wait in queues of our own listeners
 *                are accepted. Each session is told once. It answers what has come, delivers it,
 *                and ends.
 *     cutting    Lasts the grace. Waits end with -ECANCELED, and the connections that are left are
 *                reset and counted. Only code that cannot be interrupted goes on.
 *     finished   The process ends without the actions that still run.
 *
 * A phase ends when its time is over or when a stop is requested again. The callers in loop/,
 * blocking/ and workers/ receive the requests, measure the time, and do what a phase means for
 * them. */
#ifndef NEST_WORKERS_STOP_H
#define NEST_WORKERS_STOP_H

#include <stdbool.h>
#include <stdint.h>

enum nest__stop_phase { NEST__SERVING, NEST__DRAINING, NEST__CUTTING, NEST__FINISHED };

enum nest__stop_event {
    NEST__STOP_REQUESTED,
    NEST__STOP_LATE /* the phase's time is over */
};

/* Who goes through the phases. The roles differ in the grace, and in whether a request during the
 * cut ends it. */
enum nest__stop_role {
    NEST__STOP_LOOP,      /* a process whose loop serves all clients */
    NEST__STOP_THREADS,   /* a process whose threads do */
    NEST__STOP_ALONE,     /* a process of one client that no supervisor watches */
    NEST__STOP_CHILDREN,  /* the supervisor of workers that serve one client each */
    NEST__STOP_CHILD_MANY /* the supervisor of a worker that has one of the first two roles */
};

/* The phase that follows. Async-signal-safe. */
enum nest__stop_phase nest__stop_next(enum nest__stop_role, enum nest__stop_phase,
                                      enum nest__stop_event);
/* The ms that a phase lasts; 0: it has no limit. Async-signal-safe. */
uint32_t nest__stop_lasts(enum nest__stop_role, enum nest__stop_phase);
/* The phase of a worker of one client whose supervisor has passed on so many requests. A TERM that
 * it has not passed on is meant for this worker alone, and drains it. Async-signal-safe. */
enum nest__stop_phase nest__stop_passed(uint32_t requests);

/* For a caller that measures time in ms of nest__clock_ms. Zeroed but for the role: serving. */
struct nest__stop_state {
    enum nest__stop_role role;
    enum nest__stop_phase phase;
    uint64_t until; /* when the phase's time is over; 0: it has no limit */
};
/* True: the event has led to another phase. */
bool nest__stop_move(struct nest__stop_state *, enum nest__stop_event, uint64_t now);
/* The ms until the phase's time is over, at least 0; -1: it has no limit. */
int nest__stop_left(const struct nest__stop_state *, uint64_t now);

enum nest__stop_order {
    NEST__STOP_NO_ORDER,
    NEST__STOP_LOOK,  /* it receives what has come, and is told to drain before it waits again */
    NEST__STOP_DRAIN, /* NEST__EVENT_DRAIN */
    NEST__STOP_CUT    /* NEST__EVENT_CUT */
};
struct nest__stop_session {
    bool told;   /* to drain */
    bool looked; /* for input since the stop began; or it does not wait for input */
    bool owes;   /* output waits for its client */
};
/* What a session that is not in an action is told now. A session that owes its client nothing is
 * told to drain before it is cut: it may be at rest, and then it ends without being cut. */
enum nest__stop_order nest__stop_order(enum nest__stop_phase, struct nest__stop_session);

/* A signal may come just before a call that waits. A worker that waits without a descriptor to wake
 * it is told again after so many ms, until it has ended. */
enum { NEST__NUDGE_MS = 20 };

/* Reports that so many actions still run as the server ends. */
void nest__stop_abandon(uint32_t actions);
/* The exit status of a process that has served until this phase: NEST__ABANDONED, or 1 if
 * connections were cut, or 0. */
int nest__stop_status(enum nest__stop_phase);

#endif
