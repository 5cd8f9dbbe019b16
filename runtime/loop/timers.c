/* timers.c: the times that a loop has: deadlines of its sessions, and its own.
 *
 * Called by the other files of loop/. State: in nest__loop. Must not know what a session's deadline
 * means. */
#include "loop.h"
#include "../platform/platform.h"
#include "accept.h"
#include "channels.h"
#include "shake.h"
#include "share.h"
#include "wheel.h"

/* The alarm rings for the first time that is known, once. As deadlines mostly move on, a request
 * sets none. */
static void timers_plan(uint32_t due) {
    if (due != 0 && (nest__loop.planned == 0 || (int32_t)(due - nest__loop.planned) < 0)) {
        nest__loop.planned = due;
        nest__poller_alarm(due);
    }
}

void nest__due_after(enum nest__due what, uint32_t ms) {
    nest__loop.due[what] = ms == 0 ? 0 : nest__after(nest__now(), ms);
    timers_plan(nest__loop.due[what]);
}

void nest__loop_until(struct nest__wheel_slot *slot, uint32_t number, uint32_t deadline) {
    nest__wheel_set(slot, number, deadline, deadline == 0 ? 0 : nest__now());
    timers_plan(deadline);
}

void nest__session_until(nest_session *s, uint32_t deadline) {
    nest__loop_until(&s->until, s->self.slot, deadline);
}

/* The next time of all; 0: there is none. */
static uint32_t timers_next(void) {
    uint32_t next = nest__wheel_next();
    for (int what = 0; what < NEST__DUES; what++) {
        next = nest__earlier(next, nest__loop.due[what]);
    }
    return next;
}

void nest__timers_sleep(void) {
    uint32_t due = nest__loop.due[NEST__DUE_SERVICES];
    if (due != 0 && !nest__accept.over) {
        return;
    }
    uint32_t ms = nest__on_due(); /* a loop that is overloaded looks sooner than it had planned */
    if (ms != 0 && (due == 0 || (int32_t)(nest__after(nest__now(), ms) - due) < 0)) {
        nest__due_after(NEST__DUE_SERVICES, ms);
    }
}

/* Does one thing that the loop itself has a time for; false: nothing is due. */
static bool timers_due(uint32_t now) {
    enum nest__due what = 0;
    while (what < NEST__DUES &&
           (nest__loop.due[what] == 0 || !nest__reached(nest__loop.due[what], now))) {
        what++;
    }
    if (what < NEST__DUES) {
        nest__loop.due[what] = 0;
    }
    switch (what) {
    case NEST__DUE_RETRY:
        nest__accept_resume();
        return true;
    case NEST__DUE_STOP:
        nest__loop_stop(NEST__STOP_LATE);
        return true;
    case NEST__DUE_WATCHDOG:
        nest__notify("WATCHDOG=1");
        nest__due_after(NEST__DUE_WATCHDOG, nest__watchdog());
        return true;
    case NEST__DUE_IDLE_EXIT:
        if (nest__share_clients() == 0) {
            nest__loop_stop(NEST__STOP_REQUESTED);
        } else { /* another loop has some */
            nest__due_after(NEST__DUE_IDLE_EXIT, nest__listen_idle_exit());
        }
        return true;
    case NEST__DUE_SERVICES:
        nest__on_tick();
        return true;
    case NEST__DUE_ONLY:
        nest__accept_only();
        return true;
    case NEST__DUES:
        break;
    }
    return false;
}

/* A ring moves what is ready only when the loop sleeps: it does so, for no time, before it looks at
 * deadlines again. */
static void timers_move(nest_session *s, uint32_t now) {
    nest__visit_move(s, &s->c0);
    if (s->until.deadline != 0 && nest__reached(s->until.deadline, now)) {
        nest__loop.expired = false;
        timers_plan(now);
    }
}

nest_session *nest__timers_expire(void) {
    uint32_t now = nest__now();
    if (timers_due(now)) {
        return NULL;
    }
    uint32_t number = nest__wheel_take(now);
    if (number == NEST__NO_NUMBER) {
        nest__loop.expired = false;
        timers_plan(timers_next());
        return NULL;
    }
    if (nest__channels_expired(number)) {
        return NULL;
    }
    nest_session *s = nest__slot_at(number);
    if ((s->flags & NEST__READY) != 0) {
        return NULL; /* its turn comes */
    } else if ((s->flags & NEST__LINGERING) != 0) {
        nest__end_release(s, &s->c0);
    } else if ((s->flags & NEST__WAITING) != 0) {
        return nest__wait_again(s);
    } else if (NEST__TLS && s->phase == NEST__SHAKING) {
        nest__shake_look(s);
    } else if (nest__poller_pending(s, &s->c0)) { /* it came in time, and was not looked at yet */
        timers_move(s, now);
    } else {
        nest__visit_tell(s, &s->c0, NEST__EVENT_EXPIRED);
    }
    return NULL;
}
