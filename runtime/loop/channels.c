/* channels.c: a loop's further channels: their output leaves, and they are closed; see channels.h.
 *
 * Called by the other files of loop/ and, to close a channel, by the engine. No state: it is in the
 * records. Must not know the language, nor how bytes move. */
#include "channels.h"
#include "../channel/channel.h"
#include "many.h"
#include "wheel.h"

#include <errno.h>

static void channels_until(struct nest__further *further, uint32_t deadline) {
    nest__loop_until(&further->until, NEST__FURTHER_FIRST + nest__further_index(further), deadline);
}

struct nest__chan *nest__served(nest_session *s) {
    if ((s->flags & NEST__WAITING) == 0) {
        return &s->c0;
    }
    return ((const struct nest__waiter *)s->waiter)->wait->chan;
}

/* -- closing */

/* Its last operation has completed. */
static void channels_gone(nest_session *s, struct nest__further *further) {
    nest__chan_released(s, &further->chan);
    nest__end_parted(s);
}

static void channels_close(nest_session *s, struct nest__further *further) {
    nest__wheel_drop(&further->until);
    further->phase = NEST__FURTHER_CLOSING;
    if (nest__poller_close(s, &further->chan)) {
        channels_gone(s, further);
    }
}

/* -- output */

/* It carries nothing any more. */
static void channels_lost(nest_session *s, struct nest__further *further, uint8_t state) {
    nest__chan_lost(s, &further->chan, state);
    if (further->phase == NEST__FURTHER_DELIVERING) {
        channels_close(s, further);
    } else {
        (void)nest__poller_await(s, &further->chan, NEST__AWAIT_NOTHING);
        channels_until(further, 0);
    }
}

/* Sends what is queued; the rest leaves when it can. One that has delivered all is closed. */
static void channels_move(nest_session *s, struct nest__further *further) {
    struct nest__chan *chan = &further->chan;
    if (nest__push(s, chan) < 0) {
        channels_lost(s, further, NEST__CHAN_GONE);
    } else if (nest__out_queued(s, chan) > 0) {
        channels_until(further, nest__chan_deadline(s, chan));
        if (!nest__poller_await(s, chan, NEST__AWAIT_OUTPUT)) {
            channels_lost(s, further, NEST__CHAN_GONE);
        }
    } else if (further->phase == NEST__FURTHER_DELIVERING) {
        (void)nest__chan_bye(chan);
        channels_close(s, further);
    } else {
        (void)nest__poller_await(s, chan, NEST__AWAIT_NOTHING);
        channels_until(further, 0);
    }
}

void nest__chan_end(nest_session *s, struct nest__chan *chan, bool cut) {
    struct nest__further *further = nest__further_of(s, chan);
    further->phase = NEST__FURTHER_DELIVERING;
    if (cut) {
        channels_lost(s, further, NEST__CHAN_CUT);
    } else {
        channels_move(s, further);
    }
}

int nest__channels_first(nest_session *s) {
    struct nest__chan *chan = &s->c0;
    if (nest__push(s, chan) < 0) {
        nest__event(s, NEST__EVENT_RESET); /* an action runs: it is noted, and no more */
        return -ECONNRESET;
    }
    bool queued = nest__out_queued(s, chan) > 0;
    return nest__poller_await(s, chan, queued ? NEST__AWAIT_OUTPUT : NEST__AWAIT_ERRORS) ? 0
                                                                                         : -ENOMEM;
}

int nest__channels_settle(nest_session *s) {
    bool ended = s->phase == NEST__ENDED || s->phase == NEST__LEAVING;
    const struct nest__chan *served = nest__served(s);
    struct nest__further *further = nest__further_next(s, 0), *next;
    for (; further != NULL; further = next) {
        next = nest__further_next(s, further->number);
        if (&further->chan == served || nest__member_of(s, &further->chan) != NULL) {
            channels_until(further, 0); /* the wait has its own time */
        } else if (ended && further->phase != NEST__FURTHER_CLOSING) {
            nest__chan_end(s, &further->chan, nest__loop.cut);
        } else if (further->phase != NEST__FURTHER_CLOSING) {
            channels_move(s, further);
        }
    }
    return served == &s->c0 ? 0 : nest__channels_first(s);
}

void nest__channels_rest(nest_session *s) {
    struct nest__further *further = nest__further_next(s, 0), *next;
    for (; further != NULL; further = next) {
        next = nest__further_next(s, further->number);
        if (further->phase != NEST__FURTHER_CLOSING) {
            channels_move(s, further);
        }
        if (further->phase != NEST__FURTHER_CLOSING && further->phase != NEST__FURTHER_FREE) {
            channels_until(further, 0);
            (void)nest__poller_await(s, &further->chan, NEST__AWAIT_NOTHING);
        }
    }
}

/* -- completions */

nest_session *nest__channels_completed(nest_session *s, struct nest__chan *chan,
                                       const struct nest__completion *done) {
    struct nest__further *further = nest__further_of(s, chan);
    if (further == NULL) { /* the client, while an action waits elsewhere */
        int error = (int)done->result;
        if (error < 0) {
            nest__event(s, NEST__EVENT_RESET);
        } else {
            error = nest__channels_first(s);
        }
        return error < 0 ? nest__wait_over(s, error) : NULL;
    }
    if (nest__name_operation(done->name) == NEST__OP_CLOSE) {
        channels_gone(s, further);
    } else if (done->result < 0) {
        channels_lost(s, further, NEST__CHAN_GONE);
    } else {
        channels_move(s, further);
    }
    return NULL;
}

bool nest__channels_expired(uint32_t number) {
    struct nest__further *further = nest__further_timed(number);
    if (further == NULL) {
        return false;
    }
    nest_session *s = nest__slot_at(further->session.slot);
    if (!nest__poller_pending(s, &further->chan) && nest__chan_overdue(s, &further->chan)) {
        channels_lost(s, further, NEST__CHAN_CUT);
    } else {
        channels_move(s, further); /* it makes progress */
    }
    return true;
}

bool nest__channels_left(const nest_session *s) {
    return nest__further_any(s);
}

bool nest__channels_deliver(const nest_session *s) {
    for (struct nest__further *further = nest__further_next(s, 0); further != NULL;
         further = nest__further_next(s, further->number)) {
        if (further->out.queue.n > 0) {
            return true;
        }
    }
    return false;
}
