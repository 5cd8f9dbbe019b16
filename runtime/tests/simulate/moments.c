/* moments.c: when what is due must happen: not before, not later.
 *
 * Called after each step, and where a conversation ends or a wait fails by its time. State: in the
 * conversations: since when bytes are there and output waits. It counts by what it sees from
 * outside and never asks the engine for a deadline. Time only passes up to the next moment at which
 * something may happen, so what is seen after a step has happened now. */
#include "simulate.h"

#include <stdlib.h>

static void moment_log(struct sim_log *log, uint32_t position) {
    if (log->count > 0 && log->entries[log->count - 1].position >= position) {
        return;
    }
    if (log->count == log->cap) {
        log->cap = log->cap * 2 + 8;
        log->entries = (realloc)(log->entries, log->cap * sizeof log->entries[0]);
    }
    log->entries[log->count].position = position;
    log->entries[log->count++].time = nest__now();
}

/* Since when the byte at this position is there. */
static uint32_t moment_of(struct sim_log *log, uint32_t position) {
    while (log->first < log->count && log->entries[log->first].position <= position) {
        log->first++;
    }
    return log->first < log->count ? log->entries[log->first].time : nest__now();
}

static uint32_t moment_later(uint32_t a, uint32_t b) {
    return (int32_t)(a - b) > 0 ? a : b;
}

static uint32_t moment_after(uint32_t from, uint32_t ms) {
    return ms == 0 ? 0 : nest__after(from, ms);
}

/* Time that runs since `from`. Where a limit was changed meanwhile, it may be each of those: which
 * one depends on when the server has last looked at it. No limits: it does not run. */
struct moment_clock {
    uint32_t from, limits[SIM_LAWS];
    unsigned count;
};

static struct moment_clock moment_clock(uint32_t from, enum sim_limit what) {
    struct moment_clock clock = {.from = from};
    clock.count = reload_limits(what, from, clock.limits);
    return clock;
}

static struct moment_clock moment_fixed(uint32_t from, uint32_t limit) {
    return (struct moment_clock){.from = from, .limits = {limit}, .count = 1};
}

static struct moment_clock moment_idle(const struct sim_talk *talk, uint32_t from) {
    return talk->idle_own ? moment_fixed(from, talk->idle) : moment_clock(from, SIM_LIMIT_IDLE);
}

/* Whatever its limit was, it is over. */
static bool moment_overdue(const struct moment_clock *clock) {
    bool over = clock->count > 0;
    for (unsigned i = 0; i < clock->count; i++) {
        uint32_t due = moment_after(clock->from, clock->limits[i]);
        over = over && due != 0 && nest__reached(due, nest__now());
    }
    return over;
}

static uint32_t moment_last_byte(const struct sim_talk *talk) {
    return talk->arrived.count == 0 ? talk->point
                                    : talk->arrived.entries[talk->arrived.count - 1].time;
}

/* The limit of the TIMEOUT rule that is active; 0: none is. */
static uint32_t moment_rule(const struct sim_talk *talk) {
    uint32_t least = 0;
    for (unsigned i = 0; i < NEST__TIMERS; i++) {
        bool active = i == 1 ? talk->mode_late : talk->mode_tick;
        if (active && (least == 0 || nest__timers[i].after < least)) {
            least = nest__timers[i].after;
        }
    }
    return least;
}

/* The clock of a read point: since its start, the last byte, or the end of a pause for output. */
static uint32_t moment_base(const struct sim_talk *talk) {
    return moment_later(moment_later(talk->point, moment_last_byte(talk)), talk->drained);
}

/* The two that run at a read point: a TIMEOUT rule or the idle limit; the message's. */
static bool moment_point(const struct sim_talk *talk, struct moment_clock clocks[2]) {
    uint32_t base = moment_base(talk), rule = moment_rule(talk);
    clocks[0] = clocks[1] = (struct moment_clock){0};
    if (rule != 0) {
        clocks[0] = moment_fixed(base, rule);
    } else if (!talk->unfinished) {
        clocks[0] = moment_idle(talk, base);
    }
    if (talk->unfinished) {
        clocks[1] = moment_clock(talk->since, SIM_LIMIT_READ);
    }
    return rule != 0;
}

/* And while an action waits for input. */
static void moment_input(struct sim_talk *talk, struct moment_clock clocks[2]) {
    uint32_t from = moment_later(talk->wait_from, talk->drained);
    clocks[0] = moment_idle(talk, moment_later(from, moment_last_byte(talk)));
    clocks[1] = (struct moment_clock){0};
    if (talk->wait == SIM_MESSAGE && talk->received > talk->taken) {
        uint32_t first = moment_later(from, moment_of(&talk->arrived, talk->taken));
        clocks[1] = moment_clock(first, SIM_LIMIT_READ);
    }
}

/* Since when its client has taken nothing of the output that waits. */
static uint32_t moment_progress(const struct sim_talk *talk) {
    return talk->taken_once ? moment_later(talk->filled, talk->progress) : talk->filled;
}

static bool moment_unsent(struct sim_talk *talk) {
    if (talk->session->work == NULL || talk->session->work->out.queue.n == 0) {
        return false;
    }
    uint32_t from = moment_progress(talk);
    struct moment_clock clock = moment_clock(talk->filled, SIM_LIMIT_WRITE);
    clock.from = talk->worked ? moment_later(from, talk->work_ended) : from;
    return moment_overdue(&clock);
}

/* At a read point: at its moment, or at once if it has passed while the session was elsewhere, such
 * as in a pause for output that ends in this step, or when the server looks at it again after the
 * limit has become shorter. */
static bool moment_right(const struct sim_talk *talk, const struct moment_clock *clock) {
    uint32_t now = nest__now();
    bool back = talk->point == now || talk->drained == now || talk->out || clock->count > 1;
    for (unsigned i = 0; i < clock->count; i++) {
        uint32_t due = moment_after(clock->from, clock->limits[i]);
        if (due != 0 && nest__reached(due, now) && (back || due == nest__after(now, 0))) {
            return true;
        }
    }
    return false;
}

static void moment_must(const struct sim_talk *talk, bool right, const char *what) {
    if (!right) {
        sim_broken(talk, "%s at %u ms, which is not its time", what, (unsigned)nest__now());
    }
}

void moment_timer(struct sim_talk *talk, uint32_t after) {
    struct moment_clock clocks[2];
    bool rule = moment_point(talk, clocks);
    uint32_t due = moment_after(clocks[0].from, after);
    bool later = clocks[1].count > 0; /* than the message's end, whatever its limit */
    for (unsigned i = 0; i < clocks[1].count; i++) {
        uint32_t end = moment_after(clocks[1].from, clocks[1].limits[i]);
        later = later && end != 0 && (int32_t)(due - end) > 0;
    }
    if (!rule || after != moment_rule(talk) || later) {
        sim_broken(talk, "TIMEOUT(%u) fires, and is not the next", (unsigned)after);
    }
    moment_must(talk, moment_right(talk, &clocks[0]), "a TIMEOUT rule fires");
}

static void moment_write_timeout(struct sim_talk *talk) {
    uint32_t from =
        talk->out ? moment_progress(talk) : moment_of(&talk->queued, (uint32_t)talk->got);
    struct moment_clock clock = moment_clock(from, SIM_LIMIT_WRITE);
    bool right = false;
    for (unsigned i = 0; i < clock.count; i++) {
        uint32_t least = moment_after(from, clock.limits[i]);
        right = right || (least != 0 && nest__reached(least, nest__now()));
    }
    moment_must(talk, right, "writeTimeout");
}

void moment_timeout(struct sim_talk *talk) {
    struct moment_clock clocks[2];
    if (talk->got < talk->want_n) {
        moment_write_timeout(talk);
        return;
    }
    bool rule = moment_point(talk, clocks);
    moment_must(talk, (!rule && moment_right(talk, &clocks[0])) || moment_right(talk, &clocks[1]),
                "it ends by its time");
}

void moment_wait_timeout(struct sim_talk *talk) {
    struct moment_clock clocks[2];
    if (talk->got < talk->want_n) {
        moment_write_timeout(talk);
    } else if (talk->wait == SIM_WORK) {
        return; /* of a file: it has many waits */
    } else if (talk->wait == SIM_BYTE || talk->wait == SIM_MESSAGE) {
        moment_input(talk, clocks);
        moment_must(talk, moment_right(talk, &clocks[0]) || moment_right(talk, &clocks[1]),
                    "a read ends by its time");
    } else {
        sim_broken(talk, "a wait ends by its time that has none");
    }
}

/* At a read point that may go on nothing is left undone, and nothing is overdue. */
static void moment_at_point(struct sim_talk *talk) {
    const nest_session *s = talk->session;
    const struct sim_message *next = &talk->messages[talk->at];
    struct moment_clock clocks[2];
    if (talk->received != talk->sent) {
        sim_broken(talk, "what was sent is not received");
    }
    uint32_t unread = talk->received - talk->taken;
    if (talk->at < talk->count && unread >= (talk->dead ? 1 : next->head) && !talk->astray) {
        sim_broken(talk, "a whole message is not taken");
    }
    if (talk->eof) {
        sim_broken(talk, "end of file, and it does not end");
    }
    if ((s->flags & NEST__CLOSING) != 0 || talk->end != NEST_OPEN ||
        (sim.draining && unread == 0)) {
        sim_broken(talk, "it should have ended");
    }
    if (unread > 0 && !talk->unfinished) {
        talk->unfinished = true;
        talk->since = moment_later(talk->point, moment_of(&talk->arrived, talk->taken));
        talk->since = moment_later(talk->since, talk->drained);
    }
    moment_point(talk, clocks);
    if (moment_overdue(&clocks[0]) || moment_overdue(&clocks[1])) {
        sim_broken(talk, "at its read point it is overdue");
    }
}

/* Work is never cut short. */
static bool moment_working(const struct sim_talk *talk) {
    const struct nest__waiter *waiter = talk->session->waiter;
    return talk->acting && waiter != NULL && waiter->wait->what == NEST__WORK;
}

/* An action waits: for no longer than it may. */
static void moment_in_action(struct sim_talk *talk) {
    struct moment_clock clocks[2] = {{0}, {0}};
    if (talk->wait == SIM_PAUSE || talk->wait == SIM_FURTHER) {
        clocks[0] = moment_fixed(talk->wait_from, talk->wait_ms);
    } else if (!talk->out && (talk->wait == SIM_BYTE || talk->wait == SIM_MESSAGE)) {
        moment_input(talk, clocks);
    }
    if (moment_overdue(&clocks[0]) || moment_overdue(&clocks[1])) {
        sim_broken(talk, "an action waits, and is overdue");
    }
    if (talk->reset && !moment_working(talk)) {
        sim_broken(talk, "its action waits for a client that is gone");
    }
    if (nest__loop.cut && !moment_working(talk)) {
        sim_broken(talk, "its action waits after drainTimeout");
    }
}

/* It has ended, and what its client still sends is read and dropped, but not for ever. */
static void moment_lingers(struct sim_talk *talk) {
    if (!talk->lingers) {
        talk->lingers = true;
        talk->lingers_from = nest__now();
    }
    struct moment_clock clock = moment_clock(talk->lingers_from, SIM_LIMIT_LINGER);
    if (!talk->over || talk->out || talk->eof || moment_overdue(&clock)) {
        sim_broken(talk, "it lingers, and should be closed");
    }
    if (talk->received != talk->sent) {
        sim_broken(talk, "it lingers, and does not read");
    }
}

void moment_step(struct sim_talk *talk) {
    const nest_session *s = talk->session;
    uint32_t now = nest__now();
    if (s == NULL) {
        return;
    }
    talk->received = talk_received(talk);
    bool out = nest__out_queued(s, &s->c0) > 0, working = moment_working(talk);
    if (working || talk->worked_before) { /* meanwhile nobody looks whether output is late */
        talk->worked = true;
        talk->work_ended = now;
    }
    talk->worked_before = working;
    moment_log(&talk->arrived, talk->received);
    moment_log(&talk->queued, (uint32_t)(talk->got + nest__out_queued(s, &s->c0)));
    if (out && !talk->out) {
        talk->filled = now;
    }
    if (!working && moment_unsent(talk)) {
        sim_broken(talk, "its client takes nothing, and it does not end");
    }
    if (talk->out && !out) {
        talk->drained = now;
    }
    talk->out = out;
    if (out && !talk->acting && !talk->is_paused) {
        talk->is_paused = true;
        talk->paused = now;
    } else if (talk->is_paused && !out) {
        talk->is_paused = false;
        talk->since += talk->unfinished ? now - talk->paused : 0;
    }
    if (talk->acting) {
        talk->told = talk->told || (sim.draining && !talk->late && !talk->unfinished);
        moment_in_action(talk);
    } else if (talk->reset || nest__loop.cut) {
        sim_broken(talk, "its client is gone, or drainTimeout is over, and it is not closed");
    } else if ((s->flags & NEST__LINGERING) != 0) {
        moment_lingers(talk);
    } else if (talk->over && !out) {
        sim_broken(talk, "it has ended, all is delivered, and it is not closed");
    } else if (!talk->over && !out) {
        moment_at_point(talk);
    }
}

static uint32_t moment_ahead(uint32_t next, uint32_t due) {
    return due != 0 && (int32_t)(due - nest__now()) > 0 ? nest__earlier(next, due) : next;
}

uint32_t moment_next(struct sim_talk *talk) {
    struct moment_clock clocks[3] = {{0}, {0}, {0}};
    if (talk->session == NULL) {
        return 0;
    }
    uint32_t next = moment_ahead(0, talk->session->until.deadline);
    if (talk->acting) {
        moment_input(talk, clocks);
    } else if (!talk->over) {
        moment_point(talk, clocks);
    }
    if (talk->wait == SIM_PAUSE || talk->wait == SIM_FURTHER) {
        clocks[2] = moment_fixed(talk->wait_from, talk->wait_ms);
    }
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned at = 0; at < clocks[i].count; at++) {
            next = moment_ahead(next, moment_after(clocks[i].from, clocks[i].limits[at]));
        }
    }
    return next;
}
