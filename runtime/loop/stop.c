/* stop.c: a loop follows the policy of a stop (workers/stop.h): it tells its sessions.
 *
 * Called by the other files of loop/. State: in nest__loop. Must not know the language, nor where a
 * request to stop comes from. Each session is told in a step of its own. A cut waits until every
 * session was told to drain: one that is at rest then ends without being cut, and one that is cut
 * is counted. */
#include "loop.h"
#include "accept.h"
#include "channels.h"
#include "ready.h"
#include "shake.h"
#include "../service/processors/processors.h"

bool nest__stopping(void) {
    return nest__loop.stopping;
}

static void stop_accepting(void) {
    nest__accept_open(false);
    nest__accept.done = true;
}

/* A phase has begun. */
static void stop_enter(enum nest__stop_phase phase) {
    struct nest__loop *loop = &nest__loop;
    loop->phase = phase;
    nest__due_after(NEST__DUE_STOP, nest__stop_lasts(NEST__STOP_LOOP, phase));
    if (phase == NEST__DRAINING) {
        loop->stopping = true;
        loop->drain = 0;
        loop->due[NEST__DUE_IDLE_EXIT] = 0;
        if (nest__listen_stop()) {
            stop_accepting();
        }
    } else if (phase == NEST__CUTTING) {
        stop_accepting();
        loop->cut = true;
        loop->cutting = 0;
    } else { /* blocks and file calls are not cut, and may go on for ever */
        nest__stop_abandon(nest__slots_taken());
    }
}

void nest__loop_stop(enum nest__stop_event event) {
    struct nest__loop *loop = &nest__loop;
    enum nest__stop_phase next = nest__stop_next(NEST__STOP_LOOP, loop->phase, event);
    if (next == loop->phase) {
        return;
    }
    if (event == NEST__STOP_REQUESTED && next == NEST__CUTTING &&
        loop->drain < nest__slots_ever()) {
        loop->again = true;
        return;
    }
    stop_enter(next);
}

void nest__stop_requested(int64_t count) {
    if (count >= NEST__RELOAD) {
        nest__accept_reload();
    }
    for (uint32_t stops = (uint32_t)count; stops > 0; stops--) {
        nest__loop_stop(NEST__STOP_REQUESTED);
    }
}

static void stop_drain(nest_session *s) {
    if (nest__moved(s)) { /* it sees it when it comes home */
        return;
    }
    struct nest__stop_session state = {.looked = s->c0.awaits != NEST__AWAIT_INPUT};
    if (s->phase == NEST__ACTING) {
        nest__event(s, NEST__EVENT_DRAIN);
    } else if (NEST__TLS && s->phase == NEST__SHAKING) {
        nest__shake_give_up(s);
    } else if (!nest__reads(s)) {
        return;
    } else if (nest__ready_held(s)) { /* its turn comes, and it is told afterwards */
        return;
    } else if ((s->flags & NEST__READY) != 0) {
        s->flags |= NEST__STOPPING; /* seen at its turn */
    } else if (nest__stop_order(NEST__DRAINING, state) == NEST__STOP_LOOK) {
        nest__visit_receive(s, &s->c0);
    } else {
        nest__visit_tell(s, &s->c0, NEST__EVENT_DRAIN);
    }
}

static nest_session *stop_cut(nest_session *s) {
    if (s->phase == NEST__FREE) {
        return NULL;
    }
    if (nest__moved(s)) { /* as in $block: it is not cut, but what it waits for then is */
        nest__cut_add(1);
        return NULL;
    }
    bool lingers = (s->flags & NEST__LINGERING) != 0;
    if (lingers || s->phase == NEST__LEAVING) { /* its client has all that it was to have */
        nest__cut_add(nest__channels_deliver(s));
        (void)nest__channels_settle(s);
        if (lingers) {
            nest__end_release(s, &s->c0);
        }
        return NULL;
    }
    if (NEST__TLS && s->phase == NEST__SHAKING) {
        nest__shake_give_up(s);
        return NULL;
    }
    nest__cut_add(1);
    if ((s->flags & NEST__READY) != 0) {
        return NULL; /* seen at its turn */
    }
    if ((s->flags & NEST__WAITING) != 0) {
        return nest__wait_again(s);
    }
    nest__visit_tell(s, &s->c0, NEST__EVENT_CUT);
    return NULL;
}

bool nest__stop_sweep(nest_session **resumed) {
    struct nest__loop *loop = &nest__loop;
    if (loop->drain < nest__slots_ever()) {
        stop_drain(nest__slot_at(loop->drain++));
        return true;
    }
    if (loop->again) {
        loop->again = false;
        nest__loop_stop(NEST__STOP_REQUESTED);
    }
    if (loop->cut && loop->cutting < nest__slots_ever()) {
        *resumed = stop_cut(nest__slot_at(loop->cutting++));
        return true;
    }
    return false;
}
