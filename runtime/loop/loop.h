/* loop.h: what the files of loop/ share, and what workers/loops.c and loop/blocks.c call.
 *
 * A loop belongs to one thread. It keeps no state on its stack across a call that may run an
 * action: when the action waits, the loop continues on another stack, and the old frame only later.
 */
#ifndef NEST_LOOP_H
#define NEST_LOOP_H

#include "../platform/context.h"
#include "../poller/poller.h"
#include "../workers/stop.h"
#include "helpers.h"

struct nest__waiter { /* a waiting action: on its stack, and in s->waiter while it waits */
    const struct nest__wait *wait;
    int result;
    struct nest__job job;         /* used if the action waits for work */
    struct nest__context context; /* where the action resumes; valid once the loop runs again */
};

/* The deadlines of the loop itself. */
enum nest__due {
    NEST__DUE_RETRY,     /* accept again after a shortage of descriptors or memory */
    NEST__DUE_STOP,      /* end the current phase of the stop */
    NEST__DUE_WATCHDOG,  /* notify systemd's watchdog */
    NEST__DUE_IDLE_EXIT, /* exit: no client has connected for idleExit */
    NEST__DUE_SERVICES,  /* call the services */
    NEST__DUE_ONLY,      /* at start: take the connection that was passed on */
    NEST__DUES
};

struct nest__loop {
    uint32_t turns;            /* of the ready list that are left before the next poll */
    uint64_t spent;            /* bytes moved in this step */
    uint32_t accepts;          /* connections taken in a row from listener accepting - 1 */
    uint64_t row;              /* us: when the first of them was */
    uint32_t accepting;        /* 0: no listener is tried again without an event */
    bool helped;               /* jobs may have finished */
    bool expired;              /* deadlines may have come */
    bool mailed;               /* messages may have come */
    uint32_t letters;          /* messages that are left before the next poll */
    _Atomic bool stopping;     /* a stop has begun; read by helpers */
    bool again;                /* another request to stop came before the sweep was over */
    bool cut;                  /* the stop has reached its last phase */
    uint8_t phase;             /* of the stop: an enum nest__stop_phase; only stop.c writes it */
    uint32_t drain, cutting;   /* the slots that the sweeps tell next */
    uint32_t due[NEST__DUES];  /* 0: never */
    uint32_t planned;          /* the time of the poller's alarm, not after any deadline; 0: none */
    struct nest__job *leaving; /* the job of the action that has just left its stack */
};
extern struct nest__loop nest__loop;

/* -- loop.c, for workers/loops.c */
int nest__loop_start(void); /* 0; -errno after a message that says why */
/* Makes one step: a completion, a turn of the ready list or a deadline. Sleeps if there is nothing
 * to do. Returns a session whose wait is over, with waiter->result set: the caller resumes its
 * action. NULL: there is none. */
nest_session *nest__loop_step(void);
bool nest__loop_done(void); /* the server stops, and no session is left */
int nest__loop_status(void);

/* -- wait.c, for workers/loops.c and loop/blocks.c */
/* True: the action must call nest__wait_leave now. False: it does not wait, and its result is set;
 * it is -ENOMEM if no helper can do the work. */
bool nest__wait_may_leave(nest_session *, struct nest__waiter *);
/* Leaves the action's stack. Returns when the context is switched to, perhaps on a helper's thread.
 */
void nest__wait_leave(nest_session *, struct nest__waiter *);
/* The same for an action that goes to a thread of option processors, where it may reply: nothing is
 * sent meanwhile. False: no memory. */
bool nest__wait_may_move(nest_session *, struct nest__waiter *);
void nest__wait_came(nest_session *); /* the action is back on the loop's thread */
/* For the other files of loop/. Each returns the session if its wait is over, else NULL. */
nest_session *nest__wait_over(nest_session *, int result);
/* After its turn or its deadline, or when more output can be sent. */
nest_session *nest__wait_again(nest_session *);
nest_session *nest__wait_received(nest_session *, const struct nest__completion *);
nest_session *nest__wait_send_off(void);               /* gives nest__loop.leaving to a helper */
enum nest__what nest__wait_what(const nest_session *); /* requires NEST__WAITING */

/* -- visit.c */
void nest__visit_receive(nest_session *, struct nest__chan *); /* receives once, without waiting */
void nest__visit_received(nest_session *, struct nest__chan *, const struct nest__completion *);
void nest__visit_move(nest_session *, struct nest__chan *);  /* sends or receives */
void nest__visit_go_on(nest_session *, struct nest__chan *); /* continues with unread input */
void nest__visit_tell(nest_session *, struct nest__chan *, enum nest__event);
/* Does what the engine wants: sends output, then waits for the next event or ends the session. */
void nest__visit_settle(nest_session *, struct nest__chan *, unsigned want, struct nest__window *);

/* -- end.c */
/* Releases a session that has ended if the channel that was just closed was its last one. */
void nest__end_parted(nest_session *);
/* Closes the channel of a session that has ended, after its last output. */
void nest__end_finish(nest_session *, struct nest__chan *);
void nest__end_release(nest_session *, struct nest__chan *);
void nest__end_closed(nest_session *); /* the close of its channel 0 has completed */
/* A session that lingers received n bytes, which are dropped; n <= 0: the end of input or an error.
 */
void nest__end_received(nest_session *, struct nest__chan *, int64_t n);

/* -- timers.c */
void nest__due_after(enum nest__due, uint32_t ms);           /* 0: never */
void nest__session_until(nest_session *, uint32_t deadline); /* 0: never */
void nest__loop_until(struct nest__wheel_slot *, uint32_t number, uint32_t deadline);
/* Handles one deadline that has come. Returns a session whose wait is over, or NULL. */
nest_session *nest__timers_expire(void);
/* Before a sleep: asks the services when they want to be called. */
void nest__timers_sleep(void);

/* -- accept.c */
bool nest__accept_listener(
    unsigned listener);       /* takes a connection from its queue; if there is one */
void nest__accept_only(void); /* takes the connection that was passed on */

/* -- stop.c */
void nest__stop_requested(int64_t count); /* NEST__OP_SIGNAL */
void nest__loop_stop(enum nest__stop_event);
/* Tells the next session of the stop. False: all have been told. */
bool nest__stop_sweep(nest_session **resumed);

#endif
