/* clock.c: how long a session may wait for its client, and since when.
 *
 * Called by io when it leaves a session to wait, and by the engine's waits. State: what a deadline
 * is the end of, in the session's record; when a message began, and the progress of output, in its
 * work block. An idle session has no more than its deadline, which therefore stays as it was
 * answered until something happens. The clock is read anew for what begins here: the action before
 * may have run for long. Must not know who looks at the time.
 *
 * A receiver makes progress when the system holds fewer bytes for it, whether or not others may be
 * sent for them: the system takes more only when much has become free. Bytes that leave are no
 * progress by themselves, because the system's buffer may have grown. So the bytes that the
 * receiver has are those that the system was given (nest__chan_given) without those that it still
 * holds. The bytes that count as sent would not do: a part of a record of TLS leaves before they
 * are counted.
 *
 * The system is asked only when a look is due. The first one is soon, because what it compares with
 * is unknown before. */
#include "../service/proxied/proxied.h"
#include "engine.h"

enum {
    CLOCK_FIRST = 64,           /* the first look is after this part of writeTimeout, */
    CLOCK_LOOKS = 8,            /* the others after this part */
    CLOCK_WINDOW_MS = 10 * 1000 /* of minimumRate */
};

/* -- the progress of output */

static uint32_t clock_look(uint32_t now, uint32_t part) {
    uint32_t limit = nest__config.write_timeout;
    if (nest__config.minimum_rate > 0 && (limit == 0 || limit > CLOCK_WINDOW_MS)) {
        limit = CLOCK_WINDOW_MS;
    }
    return limit == 0 ? 0 : nest__after(now, limit / part > 0 ? limit / part : 1);
}

/* Output begins to wait. If the last did so just before, the window goes on. */
static void clock_begin(struct nest__output *out) {
    uint32_t now = nest__clock();
    out->counts = out->counts && out->moves && now - out->moved <= CLOCK_WINDOW_MS / CLOCK_LOOKS;
    out->since = now;
    out->look = clock_look(now, CLOCK_FIRST);
    out->waits = true;
    out->looked = out->moves = false;
}

uint32_t nest__output_deadline(struct nest__output *out) {
    uint32_t limit = nest__config.write_timeout, rate = nest__config.minimum_rate, end = 0;
    if (out->queue.n == 0) {
        return 0;
    }
    if (!out->waits) {
        clock_begin(out);
    }
    if (limit != 0) {
        end = nest__after(out->since, limit);
    }
    if (rate != 0 && out->counts) {
        end = nest__earlier(end, nest__after(out->window, CLOCK_WINDOW_MS));
    }
    return limit == 0 && rate == 0 ? 0 : nest__earlier(end, out->look);
}

static void clock_progress(const struct nest__chan *chan, struct nest__output *out, uint32_t now) {
    uint64_t unsent = nest__chan_unsent(chan);
    uint64_t taken = nest__chan_given(chan, out->sent) - unsent;
    if (out->looked ? (int64_t)(taken - out->taken) > 0 : out->moves) {
        out->since = unsent == 0 && out->moves ? out->moved : now;
    }
    out->taken = taken;
    out->looked = true;
    out->moves = false;
    out->look = clock_look(now, CLOCK_LOOKS);
}

/* Whether the receiver has taken too little in a whole window. A window that is over is followed by
 * another. */
static bool clock_slow(struct nest__output *out, uint32_t now) {
    uint32_t rate = nest__config.minimum_rate, past = now - out->window;
    bool whole = out->counts && past >= CLOCK_WINDOW_MS;
    bool slow = rate != 0 && whole && (out->taken - out->before) * 1000 < (uint64_t)rate * past;
    if (!out->counts || whole) {
        out->counts = rate != 0;
        out->window = now;
        out->before = out->taken;
    }
    return slow;
}

bool nest__output_overdue(const struct nest__chan *chan, struct nest__output *out) {
    uint32_t limit = nest__config.write_timeout, now = nest__now();
    uint32_t deadline = nest__output_deadline(out);
    if (deadline == 0 || !nest__reached(deadline, now)) {
        return false;
    }
    clock_progress(chan, out, now);
    bool slow = clock_slow(out, now);
    return slow || (limit != 0 && nest__reached(nest__after(out->since, limit), now));
}

uint32_t nest__out_deadline(nest_session *s) {
    return s->work == NULL ? 0 : nest__output_deadline(&s->work->out);
}

bool nest__out_overdue(nest_session *s) {
    return s->work != NULL && nest__output_overdue(&s->c0, &s->work->out);
}

/* -- what a session waits for */

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

/* The whole header has one limit, however its bytes arrive. */
static uint32_t clock_header(nest_session *s) {
    if (s->clock != NEST__CLOCK_NONE) {
        return s->until.deadline;
    }
    s->clock = NEST__CLOCK_READ;
    return nest__after(nest__clock(), nest__proxied_limit());
}

uint32_t nest__deadline(nest_session *s) {
    struct nest__work *work = s->work;
    bool matching = work != NULL && work->matching;
    if (NEST__PROXIED && s->phase == NEST__HEADED) {
        return clock_header(s);
    }
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
