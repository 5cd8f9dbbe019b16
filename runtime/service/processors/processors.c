/* processors.c: an action runs on a thread of the pool, and comes home for what needs the loop.
 *
 * Called by the engine and pool.c. State: for each thread, its number and the trip of the action
 * that runs on it. Must not know how threads are made, nor what the loop waits for.
 *
 * The action leaves the loop through the fiber switch, as if it waited for work. The job, on a
 * thread of the pool, switches to the action's stack. To come home, the action switches back to the
 * thread's stack; the job is done then, and the loop resumes the action like any other. An action
 * keeps its thread, so that the thread-local variables of its C code stay the same while it does
 * not ask for the loop. A trip lies on the stack of its action. */
#include "../../engine/engine.h" /* that the session has a work block, without bytes in flight */
#include "../../loop/loop.h"
#include "../../workers/context.h"
#include "pool.h"

#include <errno.h>

struct nest__trip {
    nest_session *session;
    struct nest__wait wait;
    struct nest__waiter waiter;    /* its context: where the action continues, on either thread */
    struct nest__context thread;   /* where the thread continues when the action leaves it */
    struct nest__action *action;   /* while it is on neither */
    struct nest__processor *owner; /* NULL: no thread has taken it yet */
    struct nest__queued queued;
    int error; /* errno, which moves with the action */
};

/* scope: thread */
static _Thread_local struct {
    struct nest__trip *trip;
    uint32_t number; /* 0: the loop's */
} trips_here;

/* An action changes its thread while functions run that may have used these addresses before. The
 * empty assembly prevents compilers from reusing the result of an earlier call. */
__attribute__((noinline)) uint32_t nest__processors_number(void) {
    __asm__ volatile("");
    return trips_here.number;
}

__attribute__((noinline)) static struct nest__trip *trips_trip(void) {
    __asm__ volatile("");
    return trips_here.trip;
}

__attribute__((noinline)) static void trips_set(struct nest__trip *trip) {
    __asm__ volatile("");
    trips_here.trip = trip;
}

__attribute__((noinline)) static int trips_error(void) {
    __asm__ volatile("");
    return errno;
}

__attribute__((noinline)) static void trips_set_error(int error) {
    __asm__ volatile("");
    errno = error;
}

void nest__processors_enter(struct nest__worker *worker, uint32_t number) {
    nest__worker_enter(worker);
    trips_here.number = number;
}

/* -- the threads' side */

void nest__processors_take(struct nest__job *job, struct nest__processor *owner) {
    ((struct nest__trip *)job->arg)->owner = owner;
}

struct nest__processor *nest__processors_of(const struct nest__job *job) {
    return ((const struct nest__trip *)job->arg)->owner;
}

struct nest__queued *nest__processors_queued(struct nest__job *job) {
    return &((struct nest__trip *)job->arg)->queued;
}

static int trips_work(void *arg) {
    struct nest__trip *trip = arg;
    trips_set(trip);
    nest__action_put(trip->action);
    nest__context_switch(&trip->thread, &trip->waiter.context);
    trip->action = nest__action_take();
    trips_set(NULL);
    return 0;
}

/* -- the action's side */

/* Output that a ring is sending may not be added to elsewhere. */
static bool trips_flies(const nest_session *s) {
    return s->work->out.queue.flight > 0;
}

/* False: memory is short, or the client is gone, and the action goes on here. */
static bool trips_leave(struct nest__trip *trip) {
    nest_session *s = trip->session;
    if (nest__borrow(s) == NULL || !nest__lent_long(s)) {
        return false;
    }
    if (trips_flies(s) && (nest__await_output(s, 0) < 0 || trips_flies(s))) {
        return false;
    }
    trip->waiter.job =
        (struct nest__job){.work = trip->wait.work, .arg = trip, .session = trip->session};
    if (!nest__wait_may_move(s, &trip->waiter)) {
        return false;
    }
    nest__on_wait(s);
    trip->action = nest__action_take();
    s->next = NEST__MOVED;
    nest__processors_add(&trip->waiter.job);
    nest__wait_leave(s, &trip->waiter);
    return true;
}

__attribute__((noinline)) struct nest__trip *nest__processors_home(nest_session *s) {
    struct nest__trip *trip = trips_trip();
    if (trip == NULL) {
        return NULL;
    }
    nest__on_wait(s); /* here, because a lock belongs to its thread */
    trip->error = trips_error();
    nest__context_switch(&trip->waiter.context, &trip->thread);
    s->next = NEST__NO_SLOT;
    nest__wait_came(s);
    nest__action_put(trip->action);
    nest__on_resume(s);
    if (nest__stopping()) { /* the sweep did not tell it */
        (void)nest__event(s, NEST__EVENT_DRAIN);
    }
    trips_set_error(trip->error);
    return trip;
}

__attribute__((noinline)) void nest__processors_go(struct nest__trip *trip) {
    if (trip == NULL) {
        return;
    }
    trip->error = trips_error(); /* of the directive, before it waits for a thread */
    if (trips_leave(trip)) {
        nest__on_resume(trip->session);
    }
    trips_set_error(trip->error);
}

__attribute__((noinline)) void nest__processors_act(nest_session *s, void *vars, int rule,
                                                    const struct nest_message *message) {
    struct nest__trip trip = {.session = s};
    trip.wait =
        (struct nest__wait){.what = NEST__WORK, .chan = &s->c0, .work = trips_work, .arg = &trip};
    trip.waiter.wait = &trip.wait;
    bool none = rule == NEST__ACT_END && !NEST__HAS_END;
    if (!none && nest__processors_ready() && trips_leave(&trip)) {
        nest__on_resume(s);
    }
    nest__spec_act(s, vars, rule, message);
    (void)nest__processors_home(s);
}
