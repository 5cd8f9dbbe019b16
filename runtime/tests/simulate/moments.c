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

/* Of two that may be 0 for never. */
static uint32_t moment_sooner(uint32_t a, uint32_t b) {
    return a == 0 || (b != 0 && (int32_t)(b - a) < 0) ? b : a;
}

static uint32_t moment_after(uint32_t from, uint32_t ms) {
    return ms == 0 ? 0 : nest__after(from, ms);
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

static uint32_t moment_point_due(const struct sim_talk *talk, bool *rule) {
    uint32_t base = moment_base(talk), limit = moment_rule(talk), due = 0;
    *rule = limit != 0;
    if (limit != 0) {
        due = moment_after(base, limit);
    } else if (!talk->unfinished) {
        due = moment_after(base, talk->idle);
    }
    if (talk->unfinished) {
        uint32_t read = moment_after(talk->since, nest__config.read_timeout);
        if (read != 0 && moment_sooner(due, read) == read && read != due) {
            *rule = false;
            due = read;
        }
    }
    return due;
}

/* When the action's wait for input ends. */
static uint32_t moment_input_due(struct sim_talk *talk) {
    uint32_t from = moment_later(talk->wait_from, talk->drained);
    uint32_t last = moment_later(from, moment_last_byte(talk));
    uint32_t due = moment_after(last, talk->idle);
    if (talk->wait == SIM_MESSAGE && talk->received > talk->taken) {
        uint32_t first = moment_later(from, moment_of(&talk->arrived, talk->taken));
        due = moment_sooner(due, moment_after(first, nest__config.read_timeout));
    }
    return due;
}

/* writeTimeout is of a batch, at most one of which is before the byte that waits longest. */
static bool moment_unsent(struct sim_talk *talk, uint32_t *least, uint32_t *most) {
    uint32_t limit = nest__config.write_timeout;
    *least = *most = 0;
    if (talk->session->work == NULL || talk->session->work->out_n == 0) {
        return false;
    }
    uint32_t from = moment_of(&talk->queued, (uint32_t)talk->got);
    *least = moment_after(from, limit);
    *most = moment_after(talk->worked ? moment_later(from, talk->work_ended) : from, 2 * limit);
    return true;
}

/* At a read point: at its moment, or at once if it has passed while the session was elsewhere. */
static void moment_must(struct sim_talk *talk, uint32_t due, const char *what) {
    uint32_t now = nest__now();
    bool back = talk->point == now || talk->drained == now;
    if (due == 0 || !nest__reached(due, now) || !(back || due == nest__after(now, 0))) {
        sim_broken(talk, "%s at %u ms; it was due at %u", what, (unsigned)now, (unsigned)due);
    }
}

void moment_timer(struct sim_talk *talk, uint32_t after) {
    bool rule;
    uint32_t due = moment_point_due(talk, &rule);
    if (!rule || after != moment_rule(talk)) {
        sim_broken(talk, "TIMEOUT(%u) fires, and is not the next", (unsigned)after);
    }
    moment_must(talk, due, "a TIMEOUT rule fires");
}

static void moment_write_timeout(struct sim_talk *talk) {
    uint32_t from = moment_of(&talk->queued, (uint32_t)talk->got);
    uint32_t least = moment_after(from, nest__config.write_timeout);
    if (least == 0 || !nest__reached(least, nest__now())) {
        sim_broken(talk, "writeTimeout at %u ms, and the oldest byte is there since %u",
                   (unsigned)nest__now(), (unsigned)from);
    }
}

void moment_timeout(struct sim_talk *talk) {
    bool rule;
    if (talk->got < talk->want_n) {
        moment_write_timeout(talk);
        return;
    }
    uint32_t due = moment_point_due(talk, &rule);
    if (rule) {
        sim_broken(talk, "it ends by its time while a TIMEOUT rule is active");
    }
    moment_must(talk, due, "it ends by its time");
}

void moment_wait_timeout(struct sim_talk *talk) {
    if (talk->got < talk->want_n) {
        moment_write_timeout(talk);
    } else if (talk->wait == SIM_WORK) {
        return; /* of a file: it has many waits */
    } else if (talk->wait == SIM_BYTE || talk->wait == SIM_MESSAGE) {
        moment_must(talk, moment_input_due(talk), "a read ends by its time");
    } else {
        sim_broken(talk, "a wait ends by its time that has none");
    }
}

/* At a read point that may go on nothing is left undone, and nothing is overdue. */
static void moment_at_point(struct sim_talk *talk) {
    const nest_session *s = talk->session;
    const struct sim_message *next = &talk->messages[talk->at];
    bool rule;
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
    uint32_t due = moment_point_due(talk, &rule);
    if (due != 0 && nest__reached(due, nest__now())) {
        sim_broken(talk, "at its read point it is overdue since %u", (unsigned)due);
    }
}

/* Work is never cut short. */
static bool moment_working(const struct sim_talk *talk) {
    const struct nest__waiter *waiter = talk->session->waiter;
    return talk->acting && waiter != NULL && waiter->wait->what == NEST__WORK;
}

/* An action waits: for no longer than it may. */
static void moment_in_action(struct sim_talk *talk) {
    uint32_t due = talk->wait == SIM_PAUSE ? nest__after(talk->wait_from, talk->wait_ms)
                   : !talk->out && (talk->wait == SIM_BYTE || talk->wait == SIM_MESSAGE)
                       ? moment_input_due(talk)
                       : 0;
    if (due != 0 && nest__reached(due, nest__now())) {
        sim_broken(talk, "an action waits, and is overdue since %u", (unsigned)due);
    }
    if (talk->reset && !moment_working(talk)) {
        sim_broken(talk, "its action waits for a client that is gone");
    }
    if (script_over && !moment_working(talk)) {
        sim_broken(talk, "its action waits after drainTimeout");
    }
}

void moment_step(struct sim_talk *talk) {
    const nest_session *s = talk->session;
    uint32_t now = nest__now(), least, most;
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
    if (moment_unsent(talk, &least, &most) && most != 0 && nest__reached(most, now) &&
        !moment_working(talk)) {
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
        moment_in_action(talk);
    } else if (talk->reset || script_over) {
        sim_broken(talk, "its client is gone, or drainTimeout is over, and it is not closed");
    } else if (talk->over && !out) {
        sim_broken(talk, "it has ended, all is delivered, and it is not closed");
    } else if (!talk->over && !out) {
        moment_at_point(talk);
    }
}

uint32_t moment_next(struct sim_talk *talk) {
    uint32_t now = nest__now(), next = 0, dues[3] = {0, 0, 0};
    bool rule;
    if (talk->session == NULL) {
        return 0;
    }
    dues[0] = talk->session->deadline;
    dues[1] = talk->wait == SIM_PAUSE ? nest__after(talk->wait_from, talk->wait_ms) : 0;
    dues[2] = !talk->acting && !talk->over ? moment_point_due(talk, &rule)
              : talk->acting               ? moment_input_due(talk)
                                           : 0;
    for (unsigned i = 0; i < 3; i++) {
        if (dues[i] != 0 && (int32_t)(dues[i] - now) > 0) {
            next = moment_sooner(next, dues[i]);
        }
    }
    return next;
}
