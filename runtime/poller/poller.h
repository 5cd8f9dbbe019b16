/* poller.h: the contract between a loop's policy (loop/) and what moves its bytes (a poller).
 *
 * One poller is compiled into a server. The loop submits operations, and the poller completes them:
 *
 *   receive  nest__poller_await(INPUT)   completes when bytes, the end of input or an error came
 *   send     nest__push, then            completes when bytes have left, or the client is gone
 *            nest__poller_await(OUTPUT)
 *   watch    nest__poller_await(ERRORS)  completes by an error alone
 *   close    nest__poller_close          completes when nothing of the channel is under way any
 * more accept   nest__poller_arm(true)      completes once for each connection that can be taken
 *
 * A channel awaits one thing at a time. Awaiting another one cancels the first: from then on it
 * does not complete, and what it had received already the poller keeps for the next receive. So the
 * loop never sees a completion that it has not asked for, and while output waits no input is read.
 *
 * Received bytes are lent for a visit, the step that is given their completion: they lie in memory
 * that nest__receive_space has named at that moment, or in the poller's own.
 *
 * Sent bytes stay where they are from nest__push until nest__out_sent has counted them: epoll
 * counts them inside the call; a poller that is given them for longer calls nest__out_taken first.
 * The session's record is used again only when its close has completed.
 *
 * Every completion names its operation in 64 bits. A name whose generation has passed is stale, and
 * the poller drops it. */
#ifndef NEST_POLLER_H
#define NEST_POLLER_H

#include "../channel/pool.h"
#include "../loop/slots.h"

/* -- names: generation 32, slot 24, channel 4, operation 4. Of a further channel, generation and
 * slot are those of its record (channel/pool.h): it may be closed and another one opened while its
 * session goes on. */
enum nest__operation {
    NEST__OP_RECEIVE, /* result: how many bytes, in window; 0: end of input; -ECONNRESET */
    NEST__OP_SEND,    /* 0: more can be sent, or all has left; -ECONNRESET */
    NEST__OP_WATCH,   /* -ECONNRESET */
    NEST__OP_CLOSE,
    NEST__OP_ACCEPT, /* the generation is the number of the listener */
    NEST__OP_SIGNAL, /* result: how many requests to stop, and NEST__RELOAD if there is one to
                      * reload
                      */
    NEST__OP_WAKE,   /* a helper has finished a job */
    NEST__OP_ALARM,  /* the time of nest__poller_alarm has come */
    NEST__OP_MAIL    /* messages from other workers have come, if the server has mailboxes */
};
enum { NEST__NAME_SLOT_BITS = 24, NEST__NAME_CHANNEL_BITS = 4, NEST__NAME_OPERATION_BITS = 4 };
#define NEST__NAME_SLOTS                                                                           \
    ((UINT32_C(1) << NEST__NAME_SLOT_BITS) - 1) /* the last is the loop's own */
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
/* The session and the channel of an operation that is not stale. */
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

/* -- a poller supplies. It also supplies nest__push, nest__send_file, nest__now, nest__clock and
 * nest__lease (seam.h). */
/* Before a client can know of the server: how many sessions there can be at once; 0: cannot start,
 * and said why. */
uint32_t nest__poller_prepare(void);
int nest__poller_start(void);    /* 0, or -errno */
bool nest__poller_listens(void); /* there are listeners; else one connection was passed on */
/* A step of the loop begins: no window is lent any more, and nest__now reads the clock again. */
void nest__poller_step(void);
/* The next of the operations that had completed at the last sleep. False: there is no other. */
bool nest__poller_next(struct nest__completion *);
void nest__poller_sleep(bool look); /* until an operation completes; `look`: does not wait */
bool nest__poller_crowded(void);    /* several had completed at the last sleep */
void nest__poller_alarm(uint32_t due);
/* No operation will ever complete again. `idle`: the loop has stopped, and no session is left. */
bool nest__poller_over(bool idle);
int nest__poller_status(void); /* an exit status, if it has one of its own; else 0 */

/* All listeners; 0 or -errno, and then perhaps some of them. Disarming does not fail. */
int nest__poller_arm(bool on);
void nest__poller_retire(unsigned listener); /* a stop has found its queue empty */

/* False: no memory; nothing is awaited then. */
bool nest__poller_await(nest_session *, struct nest__chan *, enum nest__await);
/* What has come already: as the result of NEST__OP_RECEIVE; -EAGAIN: nothing has. At most the room
 * that nest__receive_space says. */
int64_t nest__poller_receive(nest_session *, struct nest__chan *, struct nest__window *);
/* What the channel awaits has come, and will complete at the next sleep. */
bool nest__poller_pending(const nest_session *, const struct nest__chan *);
/* Cancels what is under way and closes the channel; it awaits nothing. True: that has completed;
 * else NEST__OP_CLOSE will say when it has. */
bool nest__poller_close(nest_session *, struct nest__chan *);

/* -- the loop supplies */
/* Room for received bytes, and where: *p is NULL if the poller has to lend its own, of as much. */
uint32_t nest__receive_space(nest_session *, struct nest__chan *, uint8_t **p);
void nest__loop_spend(uint64_t n); /* bytes that the running step has moved */
/* The channel that a session's visit or wait is about. Where the session has a turn coming
 * (NEST__READY), nothing completes on this one: it is looked at then. */
struct nest__chan *nest__served(nest_session *);

#endif
