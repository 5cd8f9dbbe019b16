/* wait.c: actions that wait, and what ends each wait.
 *
 * Called by the engine, loop/blocks.c and the other files of loop/. No state: what is waited for
 * lies on the stack of the action. Must not know the language, nor how bytes move. While an action
 * pauses its connection is watched for errors alone; while a helper works for it, for nothing. */
#include "../fiber/fiber.h"
#include "channels.h"
#include "many.h"
#include "ready.h"

#include <errno.h>
#include <string.h>

static struct nest__waiter *wait_of(const nest_session *s) {
    return s->waiter;
}

enum nest__what nest__wait_what(const nest_session *s) {
    return wait_of(s)->wait->what;
}

nest_session *nest__wait_over(nest_session *s, int result) {
    wait_of(s)->result = result;
    return s;
}

/* -- what ends a wait */

/* Takes received bytes, or the end of input. */
static int wait_take(const struct nest__wait *wait, int64_t n, const struct nest__window *window) {
    if (n > 0) {
        nest__loop_spend((uint64_t)n);
        if (window->p != wait->into) {
            memcpy(wait->into, window->p, (size_t)n);
        }
    } else if (n == 0) {
        wait->chan->state |= NEST__CHAN_EOF;
    }
    return (int)n;
}

static bool wait_input(nest_session *s, const struct nest__wait *wait, int *result) {
    struct nest__window window = {NULL, 0, false};
    int64_t n = nest__poller_receive(s, wait->chan, &window);
    if (NEST__TLS && n == -EALREADY) { /* of a handshake: in the next turn */
        nest__ready_add(s);
        return false;
    }
    if (n == -EAGAIN) {
        return false;
    }
    *result = wait_take(wait, n, &window);
    return true;
}

/* Whether the wait is over, and then its result. Output was pushed. */
static bool wait_ended(nest_session *s, struct nest__waiter *waiter) {
    const struct nest__wait *wait = waiter->wait;
    uint64_t queued = nest__out_queued(s, wait->chan);
    bool reached = wait->deadline != 0 && nest__reached(wait->deadline, nest__now());
    waiter->result = 0;
    if (wait->what == NEST__WORK) {
        return false;
    }
    if (nest__loop.cut) {
        waiter->result = -ECANCELED;
        return true;
    }
    if (wait->what == NEST__TIME) {
        return reached;
    }
    if (wait->what == NEST__ANY) {
        bool ended = nest__many_ended(s, wait);
        waiter->result = ended ? 0 : -ETIMEDOUT;
        return ended || reached;
    }
    if (wait->what == NEST__DRAINED ? queued <= wait->mark
                                    : queued == 0 && wait_input(s, wait, &waiter->result)) {
        return true;
    }
    if (reached) {
        nest__ready_drop(s);
    }
    waiter->result = -ETIMEDOUT;
    return reached;
}

/* Awaits what the wait needs, unless the session has a turn coming. False: no memory. */
static bool wait_await(nest_session *s, const struct nest__wait *wait) {
    if ((s->flags & NEST__READY) != 0) {
        return true;
    }
    if (wait->what == NEST__WORK) {
        nest__session_until(s, 0);
        return nest__poller_await(s, wait->chan, NEST__AWAIT_NOTHING);
    }
    nest__session_until(s, wait->deadline);
    if (wait->what == NEST__ANY) {
        return nest__many_await(s, wait);
    }
    return nest__poller_await(s, wait->chan,
                              nest__out_queued(s, wait->chan) > 0 ? NEST__AWAIT_OUTPUT
                              : wait->what == NEST__INPUT         ? NEST__AWAIT_INPUT
                                                                  : NEST__AWAIT_ERRORS);
}

nest_session *nest__wait_again(nest_session *s) {
    struct nest__waiter *waiter = wait_of(s);
    if (waiter->wait->what != NEST__WORK && nest__push(s, waiter->wait->chan) < 0) {
        return nest__wait_over(s, -ECONNRESET);
    }
    if (wait_ended(s, waiter)) {
        return s;
    }
    return wait_await(s, waiter->wait) ? NULL : nest__wait_over(s, -ENOMEM);
}

nest_session *nest__wait_received(nest_session *s, const struct nest__completion *done) {
    int result =
        nest__loop.cut ? -ECANCELED : wait_take(wait_of(s)->wait, done->result, &done->window);
    return nest__wait_over(s, result);
}

/* -- an action begins to wait; its output was pushed. False: the wait is over. */
static bool wait_begin(nest_session *s, struct nest__waiter *waiter) {
    const struct nest__wait *wait = waiter->wait;
    if (wait->what == NEST__WORK) {
        waiter->job = (struct nest__job){.work = wait->work, .arg = wait->arg, .session = s};
        nest__loop.leaving = &waiter->job;
    }
    waiter->result = nest__channels_settle(s);
    if (waiter->result < 0) {
        return false;
    }
    bool moves = wait->what == NEST__DRAINED || wait->what == NEST__INPUT;
    if (moves && nest__loop.spent > NEST__VISIT_OUT && !nest__loop.cut) {
        nest__ready_add(s); /* a client as fast as we are must not starve the others */
        return true;
    }
    if (wait_ended(s, waiter)) {
        return false;
    }
    waiter->result = -ENOMEM;
    return wait_await(s, wait);
}

/* An action's stack must be free of it before a helper gets the job: the job may go on on it. */
nest_session *nest__wait_send_off(void) {
    struct nest__job *job = nest__loop.leaving;
    nest__loop.leaving = NULL;
    if (nest__help(job) == 0) {
        return NULL;
    }
    job->result = job->work(job->arg);
    return nest__wait_over(job->session, job->result);
}

/* -- the fiber switch */

/* Before an action leaves: it depends on nothing of the loop's, and there is a stack for the loop.
 */
static bool wait_free_to_leave(nest_session *s) {
    return nest__own(s, NULL) == 0 && nest__fiber_ready() == 0;
}

bool nest__wait_may_leave(nest_session *s, struct nest__waiter *waiter) {
    bool work = waiter->wait->what == NEST__WORK;
    if (work && !wait_free_to_leave(s)) {
        waiter->result = -ENOMEM;
        return false;
    }
    waiter->result = nest__push(s, waiter->wait->chan);
    if (waiter->result < 0 && !work) { /* one that waits for work notices afterwards */
        return false;
    }
    s->waiter = waiter; /* its room for input */
    s->flags |= NEST__WAITING;
    bool waits = wait_begin(s, waiter);
    if (waits && !wait_free_to_leave(s)) {
        nest__ready_drop(s);
        waiter->result = -ENOMEM;
        waits = false;
    }
    if (!waits) {
        nest__wait_came(s);
    }
    return waits;
}

bool nest__wait_may_move(nest_session *s, struct nest__waiter *waiter) {
    if (!wait_free_to_leave(s)) {
        return false;
    }
    nest__channels_rest(s);
    s->waiter = waiter;
    s->flags |= NEST__WAITING;
    return wait_await(s, waiter->wait); /* nothing: cannot fail */
}

void nest__wait_leave(nest_session *s, struct nest__waiter *waiter) {
    (void)s;
    nest__fiber_leave(&waiter->context);
}

void nest__wait_came(nest_session *s) {
    s->flags &= (uint8_t)~NEST__WAITING;
    s->waiter = NULL;
}

int nest__wait(nest_session *s, const struct nest__wait *wait) {
    struct nest__waiter here = {.wait = wait};
    if (wait->what == NEST__WORK && !wait_free_to_leave(s)) {
        return wait->work(wait->arg); /* it is done in any case */
    }
    if (nest__wait_may_leave(s, &here)) {
        nest__wait_leave(s, &here);
        nest__wait_came(s);
    }
    return here.result;
}
