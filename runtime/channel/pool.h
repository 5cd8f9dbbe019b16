/* pool.h: the further channels of sessions: every channel of a session but channel 0.
 *
 * Called by the engine, by loop/, by pollers and by blocking/. A record holds the channel's
 * descriptor, state, output and deadline slot. It has its own generation, so that an operation that
 * completes late is not taken for one of the next channel in the record. Servers without the
 * feature use pool_none.c: their sessions have only channel 0. */
#ifndef NEST_CHANNEL_POOL_H
#define NEST_CHANNEL_POOL_H

#include "queue.h"

enum { NEST__FURTHER = 15 }; /* maximum for a session; numbers start at 1 */

enum nest__further_phase {
    NEST__FURTHER_FREE,
    NEST__FURTHER_OPEN,
    NEST__FURTHER_DELIVERING, /* its session has closed it; queued output is still sent */
    NEST__FURTHER_CLOSING     /* becomes free when its last operation completes */
};

struct nest__further {
    struct nest__chan chan; /* the first member */
    uint8_t number;         /* in its session */
    uint8_t phase;          /* enum nest__further_phase */
    uint32_t gen;           /* of the record: counts the channels that it has held */
    nest__ref session;
    struct nest__wheel_slot
        until; /* in loops: its output's deadline, while no action waits on it */
    struct nest__output out;
    /* For engine/bytes.c: received bytes that the action has not read, in[in_at] and behind it. */
    uint8_t *in;
    uint32_t in_cap, in_at, in_n;
    uint32_t limit; /* ms that a read waits; 0: readTimeout */
    uint8_t held;   /* if `holds`: the first unread byte, in whose place is a NUL */
    bool holds;
    bool ended;   /* no output may follow */
    bool listens; /* it accepts connections */
    bool anyone;  /* also of others than the client */
};

/* A channel of a NEST__ANY. One of the columns below says what for. */
struct nest__member {
    struct nest__chan *chan;
    uint8_t *into;             /* input, at most `room` bytes, is received here */
    struct nest__output *onto; /* or is appended to this queue, within its first `room` bytes */
    struct nest__splice *pipe; /* through this pipe, if nothing was received ahead; NULL: copied */
    uint32_t room;             /* 0: no input is awaited */
    bool drains;               /* until at most `mark` bytes of its output are queued */
    bool writable;             /* until it can be written to: a connect has ended */
    bool readable;             /* until it can be read: nothing is received */
    uint64_t mark;
    bool came;   /* result: something has come for this member */
    int32_t got; /* how many bytes were received; 0: end of file if `room`; -ECONNRESET; -ENOMEM */
};

/* Makes an open descriptor the channel with the lowest free number. NULL: no number is free, or
 * there is no memory. */
struct nest__further *nest__further_take(nest_session *, int fd, uint8_t kind);
/* Frees the record of a closed channel, whose queue was freed. */
void nest__further_give(nest_session *, struct nest__further *);
/* The record of a channel of this session; NULL: it is channel 0. */
struct nest__further *nest__further_of(const nest_session *, const struct nest__chan *);
/* The session's first further channel with a number above this one; NULL: there is none. */
struct nest__further *nest__further_next(const nest_session *, unsigned number);
bool nest__further_any(const nest_session *);
/* The open channel with this number; every session has number 0. NULL: there is none. */
struct nest__chan *nest__chan_at(nest_session *, unsigned number);

/* -- names (poller/poller.h), and numbers of deadline slots (loop/wheel.h) */
/* True: a name with this channel number names a further channel's record. */
bool nest__further_is(unsigned channel);
/* The record's index in the array. */
static inline uint32_t nest__further_index(const struct nest__further *further) {
    return (further->number - 1u) * nest__config.max_clients + further->session.slot;
}
struct nest__further *nest__further_at(uint32_t index);
/* Deadline slots below this number belong to sessions. */
#define NEST__FURTHER_FIRST (UINT32_C(1) << 24)
_Static_assert((uint64_t)NEST__CLIENTS_MOST *NEST__FURTHER < NEST__FURTHER_FIRST,
               "a name holds any record");
/* The record of a deadline slot; NULL: the slot belongs to a session. */
struct nest__further *nest__further_timed(uint32_t number);

/* -- the engine supplies */
/* When to ask whether the output of a further channel is overdue; 0: never. */
uint32_t nest__chan_deadline(nest_session *, struct nest__chan *);
bool nest__chan_overdue(nest_session *, struct nest__chan *);
/* Ends the use of a further channel, whose state becomes NEST__CHAN_GONE or NEST__CHAN_CUT. Drops
 * its output. Every later directive on it fails; its session continues. */
void nest__chan_lost(nest_session *, struct nest__chan *, uint8_t state);
/* Called when the last operation of a closed further channel has completed: its number is free. */
void nest__chan_released(nest_session *, struct nest__chan *);

/* -- loop/ and blocking/ supply */
/* Closes a further channel that no action waits on, after its queued output was sent or its
 * deadline has passed. `cut`: resets it at once. Loops do not wait here. */
void nest__chan_end(nest_session *, struct nest__chan *, bool cut);

#endif
