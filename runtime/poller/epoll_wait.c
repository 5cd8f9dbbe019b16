/* epoll_wait.c: actions that wait in a wait, and what ends each wait.
 *
 * Called by workers/loops.c and the other files of the epoll io. State: none of its own; what is
 * waited for lies on the stack of the action. Must not know the language. While an action pauses,
 * or a helper works for it, its connection is looked at for errors alone. */
#include "../loop/helpers.h"
#include "../platform/platform.h"
#include "epoll.h"

#include <errno.h>

static struct nest__waiter *wait_of(const nest_session *s) {
    return s->waiter;
}

nest_session *nest__epoll_waited(nest_session *s, int result) {
    wait_of(s)->result = result;
    return s;
}

static bool wait_input(const struct nest__wait *wait, int *result) {
    uint32_t room = wait->room < NEST__VISIT_IN ? wait->room : NEST__VISIT_IN; /* the others wait */
    ssize_t n = nest__epoll_recv(wait->chan, wait->into, room);
    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        nest__chan_received(wait->chan, false);
        return false;
    }
    if (n > 0) {
        nest__epoll.spent += (uint32_t)n;
        nest__chan_received(wait->chan, (uint32_t)n == room);
    } else if (n == 0) {
        wait->chan->state |= NEST__CHAN_EOF;
    }
    *result = n == -1 ? -ECONNRESET : (int)n;
    return true;
}

/* Whether the wait is over, and then its result: output was pushed. */
static bool wait_over(nest_session *s, struct nest__waiter *waiter) {
    const struct nest__wait *wait = waiter->wait;
    uint64_t queued = nest__out_queued(s, wait->chan);
    bool reached = wait->deadline != 0 && nest__reached(wait->deadline, nest__now());
    waiter->result = 0;
    if (wait->what == NEST__WORK) {
        return false;
    }
    if (nest__epoll.cut) {
        waiter->result = -ECANCELED;
        return true;
    }
    if (wait->what == NEST__TIME) {
        return reached;
    }
    if (wait->what == NEST__DRAINED ? queued <= wait->mark
                                    : queued == 0 && wait_input(wait, &waiter->result)) {
        return true;
    }
    waiter->result = -ETIMEDOUT;
    return reached;
}

/* Arms for what the wait needs. False: no memory. */
static bool wait_arm(nest_session *s, const struct nest__wait *wait) {
    if (wait->what == NEST__WORK) {
        nest__epoll_until(s, 0);
        return true; /* as it is: it may be done before anything happens */
    }
    nest__epoll_until(s, wait->deadline);
    if (nest__out_queued(s, wait->chan) > 0) {
        return nest__epoll_arm(s, EPOLLOUT);
    }
    if (wait->what == NEST__INPUT) {
        return nest__epoll_arm(s, EPOLLIN);
    }
    return (s->c0.io & (EPOLLIN | EPOLLOUT)) != 0 || nest__epoll_arm(s, NEST__EPOLL_QUIET);
}

bool nest__io_await(nest_session *s, struct nest__waiter *waiter) {
    const struct nest__wait *wait = waiter->wait;
    if (wait->what == NEST__WORK) {
        waiter->job = (struct nest__job){.work = wait->work, .arg = wait->arg, .session = s};
        nest__epoll.leaving = &waiter->job;
    }
    bool moves = wait->what == NEST__DRAINED || wait->what == NEST__INPUT;
    if (moves && nest__epoll.spent > NEST__VISIT_OUT && !nest__epoll.cut) {
        nest__ready_add(s); /* a client as fast as we are must not starve the others */
        return true;
    }
    if (wait_over(s, waiter)) {
        return false;
    }
    waiter->result = -ENOMEM;
    return wait_arm(s, wait);
}

nest_session *nest__epoll_again(nest_session *s) {
    struct nest__waiter *waiter = wait_of(s);
    if (waiter->wait->what != NEST__WORK && nest__push(s, waiter->wait->chan) < 0) {
        return nest__epoll_waited(s, -ECONNRESET);
    }
    if (wait_over(s, waiter)) {
        return s;
    }
    return wait_arm(s, waiter->wait) ? NULL : nest__epoll_waited(s, -ENOMEM);
}

nest_session *nest__epoll_waiting(nest_session *s, uint32_t events) {
    const struct nest__wait *wait = wait_of(s)->wait;
    bool quiet = wait->what == NEST__WORK ||
                 (wait->what == NEST__TIME && nest__out_queued(s, wait->chan) == 0);
    if (!quiet) {
        return nest__epoll_again(s);
    }
    if (wait->what == NEST__TIME && (events & EPOLLERR) != 0) {
        return nest__epoll_waited(s, -ECONNRESET);
    }
    /* Its input, or its end, can wait, and is not told again until somebody asks. */
    if (s->c0.io != NEST__EPOLL_QUIET && !nest__epoll_arm(s, NEST__EPOLL_QUIET)) {
        nest__epoll_disarm(s);
    }
    return NULL;
}

/* An action's stack must be free of it before a helper gets the job: the job may go on on it. */
nest_session *nest__epoll_send_off(void) {
    struct nest__job *job = nest__epoll.leaving;
    nest__epoll.leaving = NULL;
    if (nest__help(job) == 0) {
        return NULL;
    }
    job->result = job->work(job->arg);
    return nest__epoll_waited(job->session, job->result);
}
