/* clock.c: how long a session may wait for its client, and since when.
 *
 * Called by io when it leaves a session to wait, and by the engine's waits. State: what a deadline
 * is the end of, in the session's record; when a message and a batch of output began, in its work
 * block. An idle session has no more than its deadline, which therefore stays as it was answered
 * until something happens. The clock is read anew for what begins here: the action before may have
 * run for long. Must not know who looks at the time. */
#include "engine.h"

uint32_t nest__output_deadline(struct nest__output *out) {
    uint32_t limit = nest__config.write_timeout;
    if (out->queue.n == 0) {
        return 0;
    }
    if (out->mark == 0) {
        out->mark = out->queue.n;
        out->since = nest__clock();
    }
    return limit == 0 ? 0 : nest__after(out->since, limit);
}

uint32_t nest__out_deadline(nest_session *s) {
    return s->work == NULL ? 0 : nest__output_deadline(&s->work->out);
}

bool nest__out_overdue(nest_session *s) {
    uint32_t deadline = nest__out_deadline(s);
    return deadline != 0 && nest__reached(deadline, nest__now());
}

/* Between read point and message: a TIMEOUT rule or the idle limit; in a message also its own. */
static uint32_t clock_read(nest_session *s, bool matching, uint32_t now) {
    int timer = NEST__TIMERS > 0 ? nest__spec_timer(s->states, s->last) : -1;
    uint32_t deadline = 0;
    if (NEST__TIMERS > 0 && timer >= 0) {
        s->clock = NEST__CLOCK_TIMER;
        deadline = nest__after(now, nest__timers[timer].after);
    } else if (!matching) {
        uint32_t limit = nest__idle_limit(s);
        s->clock = NEST__CLOCK_IDLE;
        deadline = limit == 0 ? 0 : nest__after(now, limit);
    }
    if (matching && nest__config.read_timeout != 0) {
        uint32_t end = nest__after(s->work->since, nest__config.read_timeout);
        if (deadline == 0 || !nest__reached(deadline, end)) {
            s->clock = NEST__CLOCK_READ;
            deadline = end;
        }
    }
    return deadline;
}

/* Output has left: an unfinished message had no time meanwhile. */
static void clock_go_on(nest_session *s) {
    s->clock = NEST__CLOCK_NONE;
    if (s->work != NULL && s->work->matching) {
        s->work->since += nest__now() - s->work->paused;
    }
}

void nest__clock_bytes(nest_session *s) {
    if (s->clock == NEST__CLOCK_WRITE) {
        clock_go_on(s);
    }
    s->clock = NEST__CLOCK_NONE;
}

uint32_t nest__deadline(nest_session *s) {
    struct nest__work *work = s->work;
    bool matching = work != NULL && work->matching;
    if (work != NULL && work->out.queue.n > 0) {
        if (s->clock != NEST__CLOCK_WRITE) {
            s->clock = NEST__CLOCK_WRITE;
            work->paused = nest__now();
        }
        return nest__out_deadline(s);
    }
    if (s->phase != NEST__READING) {
        return 0;
    }
    if (s->clock == NEST__CLOCK_WRITE) {
        clock_go_on(s);
    }
    return s->clock == NEST__CLOCK_NONE ? clock_read(s, matching, nest__clock())
                                        : s->until.deadline;
}
