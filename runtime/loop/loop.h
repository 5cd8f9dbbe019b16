/* loop.h: what the files of loop/ share, and what workers/loops.c and loop/blocks.c ask of a loop.
 *
 * A loop is one thread's. It keeps no state on its stack across calls that may run an action: the
 * loop may go on on another stack meanwhile, and the old frame later. */
#ifndef NEST_LOOP_H
#define NEST_LOOP_H

#include "../platform/context.h"
#include "../poller/poller.h"
#include "../workers/stop.h"
#include "helpers.h"

struct nest__waiter { /* of an action in a wait; on its stack, and while it waits s->waiter */
    const struct nest__wait *wait;
    int result;
    struct nest__job job;         /* if it waits for work */
    struct nest__context context; /* where it goes on; valid once the loop has gone on elsewhere */
};

/* What the loop itself has a time for. */
enum nest__due {
    NEST__DUE_RETRY,     /* accepting again: something was short */
    NEST__DUE_STOP,      /* the phase of the stop is over */
    NEST__DUE_WATCHDOG,  /* systemd hears of us */
    NEST__DUE_IDLE_EXIT, /* no client has come for long */
    NEST__DUE_SERVICES,  /* the time of a service has come */
    NEST__DUE_ONLY,      /* at the beginning: the one connection there is */
    NEST__DUES
};

struct nest__loop {
    uint32_t turns;           /* of the ready list, before the poller is asked again */
    uint64_t spent;           /* bytes moved in this step */
    uint32_t accepts;         /* in a row, from listener accepting - 1 */
    uint32_t accepting;       /* 0: none is asked again */
    bool helped;              /* jobs may have to be looked at, */
    bool expired;             /* deadlines may */
    bool mailed;              /* so may the mailbox, */
    uint32_t letters;         /* for so many messages, before the poller is asked again */
    _Atomic bool stopping;    /* a stop has begun; helpers look at it */
    bool again;               /* a second one came before all were told of the first */
    bool cut;                 /* the stop has come to the cut */
    uint8_t phase;            /* of the stop: an enum nest__stop_phase; stop.c alone writes it */
    uint32_t drain, cutting;  /* next slot to be told */
    uint32_t due[NEST__DUES]; /* 0: never */
    uint32_t planned; /* when the poller's alarm rings: no later than anything is due; 0: not */
    struct nest__job *leaving; /* of the action that has just left its stack */
};
extern struct nest__loop nest__loop;

/* -- loop.c, for workers/loops.c */
int nest__loop_start(void); /* 0, or -errno and said why */
/* One step: a completion, a turn of the ready list, a deadline; sleeps if there is nothing to do. A
 * session whose wait is over, waiter->result set: its action is to be resumed. NULL: none. */
nest_session *nest__loop_step(void);
bool nest__loop_done(void); /* stopped, and no session is left */
int nest__loop_status(void);

/* -- wait.c, for workers/loops.c and loop/blocks.c */
/* False: the action need not, or cannot, wait: result is set (of work that nobody will do,
 * -ENOMEM). True: it must leave now. */
bool nest__wait_may_leave(nest_session *, struct nest__waiter *);
/* Leaves; returns when the context is switched to, on whatever thread. Back on the loop's own: */
void nest__wait_leave(nest_session *, struct nest__waiter *);
void nest__wait_came(nest_session *);
/* For the other files of loop/. Each returns the session if its wait is over, else NULL. */
nest_session *nest__wait_over(nest_session *, int result);
nest_session *
nest__wait_again(nest_session *); /* its turn has come, or its deadline; more can leave */
nest_session *nest__wait_received(nest_session *, const struct nest__completion *);
nest_session *nest__wait_send_off(void);               /* nest__loop.leaving */
enum nest__what nest__wait_what(const nest_session *); /* while NEST__WAITING */

/* -- visit.c */
void nest__visit_receive(nest_session *, struct nest__chan *); /* once, if bytes have come */
void nest__visit_received(nest_session *, struct nest__chan *, const struct nest__completion *);
void nest__visit_move(nest_session *, struct nest__chan *);  /* sends, or receives */
void nest__visit_go_on(nest_session *, struct nest__chan *); /* with what it has */
void nest__visit_tell(nest_session *, struct nest__chan *, enum nest__event);
/* Does what the engine wants: sends, then waits for what must come next, or ends. */
void nest__visit_settle(nest_session *, struct nest__chan *, unsigned want, struct nest__window *);

/* -- end.c */
/* One of its further channels is closed: a session that has nothing else left is released. */
void nest__end_parted(nest_session *);
void nest__end_finish(nest_session *, struct nest__chan *); /* ended, and delivered what it will */
void nest__end_release(nest_session *, struct nest__chan *);
void nest__end_closed(nest_session *); /* the close of its channel 0 has completed */
/* Of one that lingers: so many bytes have come, or its end. */
void nest__end_received(nest_session *, struct nest__chan *, int64_t n);

/* -- timers.c */
void nest__due_after(enum nest__due, uint32_t ms);           /* 0: never */
void nest__session_until(nest_session *, uint32_t deadline); /* 0: it has none */
void nest__loop_until(struct nest__wheel_slot *, uint32_t number, uint32_t deadline);
/* Does one thing whose time has come. */
nest_session *nest__timers_expire(void);
/* Before a sleep: services say when they want to be called. */
void nest__timers_sleep(void);

/* -- accept.c */
void nest__accept_listener(unsigned listener); /* takes a connection that waits there */
void nest__accept_only(void);                  /* the one that was passed on */

/* -- stop.c */
void nest__stop_requested(int64_t count); /* NEST__OP_SIGNAL */
void nest__loop_stop(enum nest__stop_event);
/* Tells one session of the stop, if there is one left to tell. False: there is none. */
bool nest__stop_sweep(nest_session **resumed);

#endif
