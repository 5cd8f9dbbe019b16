/* records.c: what the engine, the wheel and the loop keep must make sense after every step.
 *
 * Called by draw.c. No state. Looks at what it should not know, and changes nothing. */
#include "simulate.h"

static void record_no(const nest_session *s, const char *what) {
    sim_broken(talk_find((uint32_t)s->c0.fd), "record: %s (phase %u, flags %u, channel %u)", what,
               s->phase, s->flags, s->c0.state);
}

static void record_work(const nest_session *s, const struct nest__work *work) {
    struct sim_talk *talk = talk_of(s);
    uint32_t most = nest__config.input_buffer + NEST__BEHIND_REST;
    most = most > NEST__VISIT_IN ? most : NEST__VISIT_IN; /* what one receive has brought */
    if (work->rest_n > most ||
        (work->rest_n > 0 && work->rest_at + work->rest_n > work->rest_cap)) {
        record_no(s, "more input is kept than may be");
    }
    /* What is beyond a limit that has become smaller becomes no more. */
    talk->out_before = work->out.queue.n < talk->out_before ? work->out.queue.n : talk->out_before;
    if (work->out.queue.n > nest__config.output_buffer && work->out.queue.n > talk->out_before) {
        record_no(s, "more output is queued than may be");
    }
    if ((work->services.keep.n > nest__config.keep_limit &&
         work->services.keep.n > talk->kept_before) ||
        (work->services.keep.first == NULL && work->services.keep.n > 0)) {
        record_no(s, "more is kept than keepLimit");
    }
    if (work->matching && (work->match.fed > work->rest_n || work->match.fed == 0)) {
        record_no(s, "a match has seen bytes that are not there");
    }
    if (s->phase != NEST__ACTING && work->rest_n == 0 && work->out.queue.n == 0 &&
        work->out.queue.flight == 0 && !work->matching && work->services.keep.first == NULL) {
        record_no(s, "an idle session keeps its work block");
    }
    if (work == nest__worker()->lent && work->matching) {
        record_no(s, "an unfinished message has the reserve");
    }
}

/* No more than the budget says, which is what all clients may come to. `out_most`: of the limits
 * that there were, for rooms do not shrink. */
static void record_rooms(const nest_session *s, const struct nest__work *work, uint64_t out_most) {
    uint64_t arena = 0;
    for (const struct nest__block *block = work->arena; block != NULL; block = block->next) {
        arena += block->size;
    }
    if (work->rest_cap > nest__rest_most() || nest__queue_memory(&work->out.queue) > out_most ||
        work->text_cap > nest__given_most() ||
        /* The reserve's block may have come to it, and records of files. */
        arena > nest__arena_most() + NEST__ARENA + 2048) {
        record_no(s, "a room is larger than the budget says");
    }
}

static void record_phase(const nest_session *s) {
    bool waiting = (s->flags & NEST__WAITING) != 0;
    bool counts = (s->flags & NEST__LINGERING) != 0 || s->phase == NEST__LEAVING; /* in its place */
    if ((s->phase == NEST__ACTING) != waiting || (s->waiter != NULL && !counts) != waiting) {
        record_no(s, "an action that runs must wait, and no other");
    }
    if ((s->flags & NEST__READY) != 0) {
        record_no(s, "it has a turn, and is not given it");
    }
    if (s->phase == NEST__LEAVING &&
        ((!script_later && s->channels == 0) || s->until.prev != NEST__NO_NUMBER)) {
        record_no(s, "it is closed, and not released");
    }
    if ((s->flags & NEST__LINGERING) != 0 && (s->phase != NEST__ENDED || s->until.deadline == 0)) {
        record_no(s, "it lingers without a limit, or before its end");
    }
    if (!waiting && (s->flags & NEST__CUT) != 0) {
        record_no(s, "an action was cut short, and none runs");
    }
    if (s->phase == NEST__READING && (s->flags & (NEST__CLOSING | NEST__EXPIRED)) != 0) {
        record_no(s, "it is to end, and goes on");
    }
    bool ended = s->phase == NEST__ENDED || s->phase == NEST__LEAVING;
    if ((s->reason != NEST_OPEN) != ended && s->phase != NEST__ACTING) {
        record_no(s, "a reason and no end, or an end without reason");
    }
    if (s->phase == NEST__ENDED && s->work != NULL &&
        (s->work->rest_n > 0 || s->work->services.keep.first != NULL)) {
        record_no(s, "it has ended, and keeps more than output");
    }
    if ((s->states & 1) == 0) {
        record_no(s, "START is forgotten");
    }
    if ((s->c0.state & (NEST__CHAN_GONE | NEST__CHAN_CUT)) != 0 && s->work != NULL &&
        s->work->out.queue.n > 0 && !waiting) {
        record_no(s, "output waits that nobody will get");
    }
    if (s->until.deadline != 0 && s->until.prev == NEST__NO_SLOT) {
        record_no(s, "its deadline is in no wheel");
    }
}

/* The further channels of a session. */
static void record_channels(nest_session *s) {
    const struct nest__chan *served = nest__served(s);
    unsigned last = 0;
    for (struct nest__further *further = nest__further_next(s, 0); further != NULL;
         further = nest__further_next(s, last)) {
        bool queued = further->out.queue.n > 0, closing = further->phase == NEST__FURTHER_CLOSING;
        last = further->number;
        if (further->session.slot != s->self.slot || further->session.gen != s->self.gen) {
            record_no(s, "a channel of it is another's");
        }
        if ((further->phase == NEST__FURTHER_OPEN) != (nest__chan_at(s, last) != NULL)) {
            record_no(s, "a channel is named that is not open");
        }
        if (further->phase == NEST__FURTHER_OPEN && s->phase >= NEST__ENDED) {
            record_no(s, "it has ended, and a channel is open");
        }
        if (queued &&
            ((further->chan.state & (NEST__CHAN_GONE | NEST__CHAN_CUT)) != 0 || closing)) {
            record_no(s, "output of a channel waits that nobody will get");
        }
        if (&further->chan == served) {
            unsigned client =
                nest__out_queued(s, &s->c0) > 0 ? NEST__AWAIT_OUTPUT : NEST__AWAIT_ERRORS;
            if (further->until.deadline != 0 || s->c0.awaits != client) {
                record_no(s, "it waits on a channel, and its client is not watched");
            }
        } else if (!closing &&
                   further->chan.awaits != (queued ? NEST__AWAIT_OUTPUT : NEST__AWAIT_NOTHING)) {
            record_no(s, "a channel awaits what nobody wants");
        } else if (!queued && further->until.deadline != 0) {
            record_no(s, "a channel without output has a deadline");
        }
    }
    if (last != s->channels) {
        record_no(s, "it counts another number of channels");
    }
}

/* The wheel holds each deadline slot once, none later than its deadline. */
static void record_wheel(void) {
    uint32_t count = 0;
    for (uint32_t level = 0; level < WHEEL_LEVELS; level++) {
        for (uint32_t digit = 0; digit < WHEEL_DIGITS; digit++) {
            uint32_t before = WHEEL_HEAD | (level * WHEEL_DIGITS + digit);
            bool full = (wheel.full[level] >> digit & 1) != 0;
            if (!full) {
                continue;
            }
            uint64_t shift = level * WHEEL_BITS;
            uint64_t begins = ((wheel.now >> shift) - (wheel.now >> shift) % WHEEL_DIGITS + digit)
                              << shift;
            for (uint32_t at = wheel.first[level][digit]; at != NEST__NO_NUMBER;
                 at = nest__wheel_slot(at)->next) {
                const struct nest__further *further = nest__further_timed(at);
                const struct nest__wheel_slot *slot = nest__wheel_slot(at);
                const nest_session *s = nest__slot_at(further == NULL ? at : further->session.slot);
                if (s->phase == NEST__FREE ||
                    (further != NULL && further->phase == NEST__FURTHER_FREE)) {
                    sim_broken(NULL, "a free slot is in the wheel");
                }
                if (slot->prev != before) {
                    record_no(s, "the wheel's list is broken");
                }
                if (slot->deadline != 0 && begins > wheel_time(slot->deadline)) {
                    record_no(s, "it is in the wheel behind its deadline");
                }
                before = at;
                if (++count > wheel.count) {
                    sim_broken(NULL, "the wheel holds more than it counts");
                }
            }
        }
    }
    if (count != wheel.count) {
        sim_broken(NULL, "the wheel counts %u and holds %u", (unsigned)wheel.count,
                   (unsigned)count);
    }
}

/* In place of nest__poller_sleep in loop.c: before the loop sleeps, all that must happen later has
 * its time. */
void record_sleep(bool look) {
    if (nest__cache_due() != 0 && nest__loop.due[NEST__DUE_SERVICES] == 0) {
        sim_broken(NULL, "files are kept open for ever");
    }
    nest__poller_sleep(look);
}

void record_check_all(void) {
    uint64_t ended = 0, going = 0, taken = 0;
    const struct nest__worker *worker = nest__worker();
    bool lent = false;
    static uint64_t out_most; /* the reserve and spare blocks may be of a limit before */
    uint64_t one = nest__queue_most(nest__config.output_buffer);
    /* Behind bytes in flight, and behind a reference, is another block; and one is kept. The block
     * of the reserve, which may once have been a session's, may have come to it. */
    uint64_t now_most = (draw_is_later() || draw_refers() ? 3 * one : one) + one;
    out_most = now_most > out_most ? now_most : out_most;
    for (uint32_t slot = 0; slot < nest__slots_ever(); slot++) {
        nest_session *s = nest__slot_at(slot);
        if (s->phase == NEST__FREE) {
            if (s->work != NULL || s->channels > 0) {
                sim_broken(NULL, "slot %u is free and has a work block, or a channel",
                           (unsigned)slot);
            }
            continue;
        }
        taken++;
        record_phase(s);
        record_channels(s);
        if (s->work != NULL) {
            record_work(s, s->work);
            record_rooms(s, s->work, out_most);
            lent = lent || s->work == worker->lent;
        }
        going += s->phase != NEST__ENDED && s->phase != NEST__LEAVING;
    }
    for (unsigned reason = NEST_OPEN + 1; reason < NEST_REASONS; reason++) {
        ended += nest__ended[reason];
    }
    if (nest__ended[NEST_OPEN] != going) {
        sim_broken(NULL, "%llu are open, and %llu go on",
                   (unsigned long long)nest__ended[NEST_OPEN], (unsigned long long)going);
    }
    if (ended + going != script_taken) {
        sim_broken(NULL, "%u were opened, %llu have ended and %llu go on", (unsigned)script_taken,
                   (unsigned long long)ended, (unsigned long long)going);
    }
    if (taken != nest__slots_taken() || taken != nest__slots_taken()) {
        sim_broken(NULL, "%u slots are taken, and %llu are used", (unsigned)nest__slots_taken(),
                   (unsigned long long)taken);
    }
    if (worker->action != NULL && (worker->action->session->flags & NEST__WAITING) == 0) {
        sim_broken(NULL, "an action that has ended is left on the worker");
    }
    if (worker->spares > NEST__SPARE_WORK) {
        sim_broken(NULL, "%u spare work blocks", (unsigned)worker->spares);
    }
    if ((worker->reserve == NULL) == (worker->lent == NULL) || (worker->lent != NULL && !lent)) {
        sim_broken(NULL, "the reserve is neither there nor lent");
    }
    if ((++sim.checks & 15) == 0) {
        record_wheel();
    }
}
