/* poller.h: the contract between loop/, which decides, and a poller, which moves bytes.
 *
 * A server has one poller. The loop submits operations, and the poller completes them:
 *
 *   receive  nest__poller_await(INPUT)   completes upon bytes, the end of input or an error
 *   send     nest__push, then            completes when bytes were sent, or the client is gone
 *            nest__poller_await(OUTPUT)
 *   both     nest__poller_await(BOTH)    a receive and a send at the same time; each completes
 *   ready    nest__poller_await(READY)   completes as a send when there is input to be read
 *   left     nest__poller_await(LEFT)    ready, or receive if the poller has received already
 *   left, both              (LEFT_BOTH)  the same, and a send
 *   watch    nest__poller_await(ERRORS)  completes upon an error only
 *   close    nest__poller_close          completes when no operation of the channel is left
 *   accept   nest__poller_arm(true)      completes once for each connection that can be taken
 *
 * A channel awaits one operation at a time, or a receive and a send (BOTH). Awaiting another one
 * cancels the first, which then never completes; the poller keeps bytes that it has already
 * received for the next receive. So the loop gets only completions that it has asked for, and reads
 * no input while output waits.
 *
 * Received bytes are lent for the visit that handles their completion. They are in the memory that
 * nest__receive_space named, or in the poller's own.
 *
 * Sent bytes do not move from nest__push until nest__out_sent. epoll calls it before nest__push
 * returns; a poller that keeps them longer first calls nest__out_taken. The session's record is
 * reused only after its close has completed.
 *
 * A completion names its operation in 64 bits. A name with an old generation is stale, and the
 * poller drops it. */
#ifndef NEST_POLLER_H
#define NEST_POLLER_H

#include "../channel/pool.h"
#include "../loop/slots.h"

/* -- names: 32 bits of generation, 24 of slot, 4 of channel, 4 of operation. A further channel has
 * the generation and slot of its own record (channel/pool.h), because it may be closed and another
 * one opened during one session. */
enum nest__operation {
    NEST__OP_RECEIVE, /* result: the number of bytes in window; 0: end of input; -ECONNRESET */
    NEST__OP_SEND,    /* 0: more can be sent, or all was sent; -ECONNRESET */
    NEST__OP_WATCH,   /* -ECONNRESET */
    NEST__OP_CLOSE,
    NEST__OP_ACCEPT, /* the generation is the number of the listener */
    NEST__OP_SIGNAL, /* result: the number of requests to stop; plus NEST__RELOAD to reload */
    NEST__OP_WAKE,   /* a helper has finished a job */
    NEST__OP_ALARM,  /* the time of nest__poller_alarm has come */
    NEST__OP_SHARE,  /* another loop wakes this one, which rests (loop/share.h) */
    NEST__OP_MAIL    /* messages from other workers have come, if the server has mailboxes */
};
enum { NEST__NAME_SLOT_BITS = 24, NEST__NAME_CHANNEL_BITS = 4, NEST__NAME_OPERATION_BITS = 4 };
#define NEST__NAME_SLOTS                                                                           \
    ((UINT32_C(1) << NEST__NAME_SLOT_BITS) - 1) /* this one is the loop itself */
_Static_assert(32 + NEST__NAME_SLOT_BITS + NEST__NAME_CHANNEL_BITS + NEST__NAME_OPERATION_BITS ==
                   64,
               "a name has 64 bits");
_Static_assert((int)NEST__OP_MAIL < 1 << NEST__NAME_OPERATION_BITS, "a name holds any operation");
_Static_assert((int)NEST__CLIENTS_MOST < (int)NEST__NAME_SLOTS, "a name holds any slot");

static inline uint64_t nest__name(uint32_t gen, uint32_t slot, unsigned channel,
                                  enum nest__operation operation) {
    return (uint64_t)gen << 32 | (uint64_t)slot << 8 | channel << 4 | (uint64_t)operation;
}
static inline uint64_t nest__name_of_loop(enum nest__operation operation, uint32_t which) {
    return nest__name(which, NEST__NAME_SLOTS, 0, operation);
}
static inline uint32_t nest__name_gen(uint64_t name) {
    return (uint32_t)(name >> 32);
}
static inline uint32_t nest__name_slot(uint64_t name) {
    return (uint32_t)name >> 8;
}
static inline unsigned nest__name_channel(uint64_t name) {
    return (unsigned)name >> 4 & 15;
}
static inline enum nest__operation nest__name_operation(uint64_t name) {
    return (enum nest__operation)(name & 15);
}
/* The session and the channel of a name that is not stale. */
static inline nest_session *nest__named_now(uint64_t name, struct nest__chan **chan) {
    if (nest__further_is(nest__name_channel(name))) {
        struct nest__further *further = nest__further_at(nest__name_slot(name));
        *chan = &further->chan;
        return nest__slot_at(further->session.slot);
    }
    nest_session *s = nest__slot_at(nest__name_slot(name));
    *chan = &s->c0;
    return s;
}
/* The same; NULL: the name is stale. */
static inline nest_session *nest__named(uint64_t name, struct nest__chan **chan) {
    nest_session *s = nest__named_now(name, chan);
    if (nest__further_is(nest__name_channel(name))) {
        const struct nest__further *further = nest__further_at(nest__name_slot(name));
        bool here = further->gen == nest__name_gen(name) && further->phase != NEST__FURTHER_FREE;
        return here ? s : NULL;
    }
    return s->self.gen == nest__name_gen(name) && s->phase != NEST__FREE ? s : NULL;
}

/* The name of a channel's operation. */
static inline uint64_t nest__name_of(const nest_session *s, const struct nest__chan *chan,
                                     enum nest__operation operation) {
    const struct nest__further *further = nest__further_of(s, chan);
    return further == NULL
               ? nest__name(s->self.gen, s->self.slot, 0, operation)
               : nest__name(further->gen, nest__further_index(further), further->number, operation);
}

struct nest__completion {
    uint64_t name;
    int64_t result;
    struct nest__window window; /* RECEIVE, result > 0: the bytes */
};
#define NEST__RELOAD (INT64_C(1) << 32)

/* -- a poller supplies. It also supplies nest__push, nest__send_file, nest__received_ahead,
 * nest__now, nest__clock and nest__lease (seam.h). */
/* Called before clients can connect: how many sessions there can be at once. 0, or -errno after a
 * message that says why the server cannot start; -EOPNOTSUPP: the system lacks what it needs. */
int nest__poller_prepare(uint32_t *most);
/* Lists the memory that a client can need in the poller. Returns how many. */
unsigned nest__poller_needs(struct nest__need needs[]);
int nest__poller_start(void);    /* 0, or -errno */
bool nest__poller_listens(void); /* false: one connection was passed on, there are no listeners */
/* Called at the start of a step: no window is lent any more, and nest__now reads the clock again.
 */
void nest__poller_step(void);
/* The next operation that had completed by the last sleep. False: there are no more. */
bool nest__poller_next(struct nest__completion *);
void nest__poller_sleep(bool look);    /* until an operation completes; `look`: without waiting */
uint32_t nest__poller_completed(void); /* how many operations had by the last sleep */
uint32_t nest__poller_clients(void);   /* how many of them, not yet looked at, are of sessions */
void nest__poller_alarm(uint32_t due);
bool nest__poller_again(void); /* with option priorities: another client may wait at a listener */
/* True: no operation will ever complete. `idle`: the server stops, and no session is left. */
bool nest__poller_over(bool idle);
int nest__poller_status(void); /* the poller's own exit status, or 0 */

/* Arms or disarms all listeners. 0, or -errno after perhaps some. Disarming does not fail. */
int nest__poller_arm(bool on);
void nest__poller_retire(unsigned listener); /* the server stops, and its queue is empty */

/* False: no memory, and nothing is awaited. */
bool nest__poller_await(nest_session *, struct nest__chan *, enum nest__await);
/* Receives without waiting, at most what nest__receive_space allows. The result is that of
 * NEST__OP_RECEIVE; -EAGAIN: nothing has come. */
int64_t nest__poller_receive(nest_session *, struct nest__chan *, struct nest__window *);
/* True: the awaited operation is ready, and completes at the next sleep. */
bool nest__poller_pending(const nest_session *, const struct nest__chan *);
/* Cancels the channel's operation and closes the channel. True: the close has completed. False:
 * NEST__OP_CLOSE completes later. */
bool nest__poller_close(nest_session *, struct nest__chan *);

/* -- the loop supplies */
/* The listener, of n, that is armed as the i-th: what is armed first completes first, and where
 * there is one place for many clients, no listener has to wait until another is empty. */
unsigned nest__accept_turn(unsigned i, unsigned n);
/* How many bytes may be received, and where; *p is NULL if the poller must lend its own memory. */
uint32_t nest__receive_space(nest_session *, struct nest__chan *, uint8_t **p);
void nest__loop_spend(uint64_t n); /* bytes that the running step has moved */
/* The channel of the session's visit or wait. While the session is in the ready list (NEST__READY),
 * nothing completes on this channel: its turn looks at it. */
struct nest__chan *nest__served(nest_session *);

#endif
