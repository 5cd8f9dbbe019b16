/* pool.h: the further channels of sessions: every channel of a session but channel 0.
 *
 * Called by the engine, by loop/, by pollers and by blocking/. A record has all that a channel has:
 * its descriptor and state, its output, a deadline slot, and a generation of its own, so that an
 * operation that is reported late is not taken for one of the next channel in the same record.
 * Servers without the feature have pool_none.c: there every session has channel 0 alone. */
#ifndef NEST_CHANNEL_POOL_H
#define NEST_CHANNEL_POOL_H

#include "queue.h"

enum { NEST__FURTHER = 15 }; /* most further channels of a session; their numbers begin with 1 */

enum nest__further_phase {
    NEST__FURTHER_FREE,
    NEST__FURTHER_OPEN,
    NEST__FURTHER_DELIVERING, /* closed by its session: what is queued still leaves */
    NEST__FURTHER_CLOSING     /* free when its last operation has completed */
};

struct nest__further {
    struct nest__chan chan; /* the first member */
    uint8_t number;         /* in its session */
    uint8_t phase;          /* enum nest__further_phase */
    uint32_t gen;           /* of the record: one more with each channel that it has had */
    nest__ref session;
    struct nest__wheel_slot until; /* loops: when its output is overdue, while no action waits */
    struct nest__output out;
};

/* An open descriptor becomes the channel with the lowest free number. NULL: the session has as many
 * as it may, or there is no memory. */
struct nest__further *nest__further_take(nest_session *, int fd, uint8_t kind);
/* The channel is closed, and its queue was freed. */
void nest__further_give(nest_session *, struct nest__further *);
/* The record of a channel of this session; NULL: it is channel 0. */
struct nest__further *nest__further_of(const nest_session *, const struct nest__chan *);
/* The next one of this session behind a number; NULL: there is none. */
struct nest__further *nest__further_next(const nest_session *, unsigned number);
bool nest__further_any(const nest_session *);
/* A channel by its number; every session has number 0. NULL: there is none that is open. */
struct nest__chan *nest__chan_at(nest_session *, unsigned number);

/* -- names (poller/poller.h), and numbers of deadline slots (loop/wheel.h) */
/* A name with this number of a channel names the record of a further channel. */
bool nest__further_is(unsigned channel);
/* Place of a record among all. */
static inline uint32_t nest__further_index(const struct nest__further *further) {
    return (further->number - 1u) * nest__config.max_clients + further->session.slot;
}
struct nest__further *nest__further_at(uint32_t index);
/* Numbers of deadline slots: below this one they are slots of sessions. */
#define NEST__FURTHER_FIRST (UINT32_C(1) << 24)
_Static_assert((uint64_t)NEST__CLIENTS_MOST *NEST__FURTHER < NEST__FURTHER_FIRST,
               "a name holds any record");
/* NULL: it is the number of a session. */
struct nest__further *nest__further_timed(uint32_t number);

/* -- the engine supplies */
/* When what a further channel has queued is overdue; 0: never. */
uint32_t nest__chan_deadline(nest_session *, struct nest__chan *);
/* A further channel carries nothing any more, for it is NEST__CHAN_GONE, or CUT: its output is
 * dropped. Every later directive on it fails; its session goes on. */
void nest__chan_lost(nest_session *, struct nest__chan *, uint8_t state);
/* A further channel is closed, and its last operation has completed: its number is free. */
void nest__chan_released(nest_session *, struct nest__chan *);

/* -- loop/ and blocking/ supply */
/* Closes a further channel that no action waits on. What is queued is delivered first, within its
 * deadline, unless `cut`: then the channel is reset. Does not wait in loops. */
void nest__chan_end(nest_session *, struct nest__chan *, bool cut);

#endif
