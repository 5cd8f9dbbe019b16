/* loops.h: the contract between workers/loops.c and the io that it runs (epoll, script).
 *
 * Everything here belongs to one loop on one thread. */
#ifndef NEST_LOOPS_H
#define NEST_LOOPS_H

#include "../platform/context.h"
#include "../seam.h"
#include "../loop/helpers.h"

struct nest__waiter { /* of an action in a wait; on its stack, and while it waits s->waiter */
    const struct nest__wait *wait;
    int result;
    struct nest__job job;         /* io's, if it waits for work */
    struct nest__context context; /* where it goes on; valid once the loop has gone on elsewhere */
};

/* -- io supplies. It keeps no state on its stack across calls that may run an action: the loop may
 * go on elsewhere meanwhile, and the old frame later. */
/* Before anybody can know of the server: from here on no TERM is lost. Most sessions at once; 0:
 * cannot start, said why. */
uint32_t nest__io_prepare(void);
int nest__io_start(void); /* 0, or -errno and said why */
/* One step: an event, a command, a turn of the ready list; waits if there is nothing to do. A
 * session whose wait is over, waiter->result set: it is resumed. NULL: none. */
nest_session *nest__io_step(void);
bool nest__io_done(void); /* stopped, and no session is left */
int nest__io_status(void);

/* An action is about to wait; its output was pushed. True: nest__io_step will return its session
 * when the wait is over. False: there is nothing to wait for, or it must not: result is set. Work
 * begins in a later step: then the action has left its stack, and the work may go on on it. */
bool nest__io_await(nest_session *, struct nest__waiter *);

/* -- workers supplies */
/* False: the action need not, or cannot, wait: result is set (of work that nobody will do,
 * -ENOMEM). True: it must leave now. */
bool nest__loops_may_leave(nest_session *, struct nest__waiter *);
/* Leaves; returns when the context is switched to, on whatever thread. Back on the loop's own: */
void nest__loops_leave(nest_session *, struct nest__waiter *);
void nest__loops_came(nest_session *);
void nest__slots_limit(uint32_t most);           /* from now on; no more than before */
nest_session *nest__slot_take(void);             /* NULL: all are taken */
void nest__slot_give(nest_session *, bool used); /* used: under a new generation */
nest_session *nest__slot_at(uint32_t slot);
uint32_t nest__slots_ever(void); /* slots below this one have been used */
uint32_t nest__slots_taken(void);
void nest__ready_add(nest_session *);
nest_session *nest__ready_take(void); /* the longest waiting; NULL */
uint32_t nest__ready_count(void);

#define NEST__NO_SLOT UINT32_MAX

#endif
