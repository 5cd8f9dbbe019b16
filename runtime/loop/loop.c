/* loop.c: the steps of a loop.
 *
 * Called by workers/loops.c. State: this process's loop (loop.h). Must not know the language, nor
 * how bytes move. A step does one thing. Sessions that must be told of a stop go first, then
 * completions, jobs that are done, turns of the ready list, and deadlines last: bytes that have
 * come count against the time. */
#include "loop.h"
#include "../channel/channel.h"
#include "accept.h"
#include "channels.h"
#include "many.h"
#include "ready.h"
#include "shake.h"
#include "share.h"

#include "../platform/platform.h"
#include "../service/processors/processors.h"

#include <errno.h>
#include <string.h>

struct nest__loop nest__loop;

void nest__loop_spend(uint64_t n) {
    nest__loop.spent += n;
}

/* -- completions */

static nest_session *loop_of_session(const struct nest__completion *done) {
    struct nest__chan *chan;
    nest_session *s = nest__named_now(done->name, &chan);
    bool waits = (s->flags & NEST__WAITING) != 0;
    struct nest__member *member = nest__member_of(s, chan);
    if (member != NULL) {
        return nest__many_completed(s, member, done);
    }
    if (chan != nest__served(s)) {
        return nest__channels_completed(s, chan, done);
    }
    switch (nest__name_operation(done->name)) {
    case NEST__OP_RECEIVE:
        if (NEST__TLS && done->result == -EALREADY) { /* of a handshake: in the next turn */
            nest__ready_add(s);
            return NULL;
        }
        if (NEST__TLS && s->phase == NEST__SHAKING) {
            nest__shake_received(s, done->result);
            return NULL;
        }
        if (waits) {
            return nest__wait_received(s, done);
        }
        if ((s->flags & NEST__LINGERING) != 0) {
            nest__end_received(s, chan, done->result);
        } else {
            nest__visit_received(s, chan, done);
        }
        return NULL;
    case NEST__OP_SEND:
        if (NEST__TLS && s->phase == NEST__SHAKING) {
            nest__shake_ready(s, done->result);
            return NULL;
        }
        if (waits) {
            return done->result < 0 ? nest__wait_over(s, (int)done->result) : nest__wait_again(s);
        }
        if (NEST__CHAN_BYES && (s->flags & NEST__LINGERING) != 0) {
            nest__end_finish(s, chan);
        } else if (done->result < 0) {
            nest__visit_tell(s, chan, NEST__EVENT_RESET);
        } else {
            nest__visit_move(s, chan);
        }
        return NULL;
    case NEST__OP_WATCH:
        return nest__wait_over(s, (int)done->result);
    default: /* NEST__OP_CLOSE */
        nest__end_closed(s);
        return NULL;
    }
}

static void loop_mailed(void) {
    nest__loop.mailed = true;
    nest__loop.letters = NEST__VISIT_MESSAGES;
}

static nest_session *loop_completed(const struct nest__completion *done) {
    if (nest__name_slot(done->name) != NEST__NAME_SLOTS) {
        return loop_of_session(done);
    }
    switch (nest__name_operation(done->name)) {
    case NEST__OP_ACCEPT:
        if (!nest__ready_listener(nest__name_gen(done->name))) {
            (void)nest__accept_listener(nest__name_gen(done->name));
        }
        break;
    case NEST__OP_SIGNAL:
        nest__stop_requested(done->result);
        break;
    case NEST__OP_WAKE:
        nest__loop.helped = true;
        break;
    case NEST__OP_SHARE:
        nest__share_woken();
        nest__accept_open(true);
        break;
    case NEST__OP_MAIL:
        loop_mailed();
        break;
    default: /* NEST__OP_ALARM */
        nest__loop.planned = 0;
        nest__loop.expired = true;
        break;
    }
    return NULL;
}

/* The next job that is done; its result is its action's. */
static nest_session *loop_helped(void) {
    struct nest__job *job = nest__helped();
    if (job == NULL) {
        nest__loop.helped = false;
        return NULL;
    }
    if (job->session == NULL) { /* of a service, which may use it again */
        job->work = NULL;
        return NULL;
    }
    return nest__wait_over(job->session, job->result);
}

/* Hands over a message from another worker. A session that does not wait for input has a turn or
 * an event coming, and goes on then. */
static void loop_letter(void) {
    nest_session *s = NULL;
    nest__loop.mailed = nest__on_letter(&s);
    nest__loop.letters = nest__loop.mailed ? nest__loop.letters - 1 : 0;
    bool cut = s != NULL && (s->c0.state & NEST__CHAN_CUT) != 0;
    if (s != NULL && (s->flags & NEST__READY) == 0 && (cut || s->c0.awaits == NEST__AWAIT_INPUT)) {
        nest__visit_tell(s, &s->c0, NEST__EVENT_MAIL);
    }
}

static nest_session *loop_turn(void) {
    nest__loop.turns--;
    if (nest__ready_accept()) {
        return NULL;
    }
    nest_session *s = nest__ready_take();
    if (s == NULL) {
        return NULL;
    }
    if (NEST__TLS && s->phase == NEST__SHAKING) {
        nest__shake_turn(s);
        return NULL;
    }
    if ((s->flags & NEST__WAITING) != 0) {
        return nest__wait_again(s);
    }
    nest__visit_go_on(s, &s->c0);
    return NULL;
}

/* -- steps */

nest_session *nest__loop_step(void) {
    struct nest__loop *loop = &nest__loop;
    struct nest__completion done;
    nest_session *resumed = NULL;
    loop->spent = 0;
    if (loop->leaving != NULL) {
        return nest__wait_send_off();
    }
    nest__poller_step();
    if (loop->stopping && nest__stop_sweep(&resumed)) {
        return resumed;
    }
    if (loop->accepting != 0) {
        (void)nest__accept_listener(loop->accepting - 1);
        return NULL;
    }
    if (nest__poller_next(&done)) {
        return loop_completed(&done);
    }
    bool soon = nest__ready_soon();
    if (loop->helped && !soon) {
        return loop_helped();
    }
    if (loop->letters > 0 && !soon) {
        loop_letter();
        return NULL;
    }
    if (loop->turns > 0 && !soon) {
        return loop_turn();
    }
    if (loop->expired) {
        return nest__timers_expire();
    }
    if (NEST__PROCESSORS) {
        nest__processors_flush();
    }
    nest__accept_load(nest__ready_count()); /* first: overload has a time of its own */
    nest__timers_sleep();
    if (NEST__TLS) {
        nest__tls_turn();
    }
    nest__poller_sleep(soon || nest__ready_turns() > 0 || loop->mailed);
    nest__accept_load(nest__ready_count() + nest__poller_clients());
    loop->turns = nest__ready_turns();
    if (loop->mailed) {
        loop_mailed();
    }
    return NULL;
}

bool nest__loop_done(void) {
    return nest__loop.phase == NEST__FINISHED ||
           nest__poller_over(nest__slots_taken() == 0 && nest__accept.done);
}

int nest__loop_status(void) {
    int status = nest__stop_status(nest__loop.phase);
    return status == NEST__ABANDONED || nest__poller_status() == 0 ? status : nest__poller_status();
}

/* -- the beginning */

int nest__loop_start(void) {
    int error = nest__poller_start();
    if (error < 0) {
        nest__say("cannot start: %s", strerror(-error));
        return error;
    }
    nest__loop.mailed = nest__on_mailbox() != 0; /* nobody was told yet to wake this loop */
    nest__due_after(NEST__DUE_WATCHDOG, nest__watchdog());
    if (nest__poller_listens()) {
        nest__due_after(NEST__DUE_IDLE_EXIT, nest__listen_idle_exit());
        nest__accept_open(true);
    } else {
        nest__due_after(NEST__DUE_ONLY, 1);
    }
    return 0;
}
