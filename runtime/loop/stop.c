/* stop.c: how a loop comes to its end.
 *
 * Called by the other files of loop/. State: in nest__loop. Must not know the language, nor where a
 * request to stop comes from. No new client is accepted but those that wait in queues of ours;
 * every session is told, one a step; one at rest after a last look at what it has been sent. When
 * drainTimeout is over, or at a second request, those that are left are cut. */
#include "loop.h"
#include "../platform/platform.h"
#include "accept.h"
#include "channels.h"

enum { STOP_GRACE_MS = 1000 }; /* after the cut, for helpers to finish */

bool nest__stopping(void) {
    return nest__loop.stopping;
}

void nest__stop_over(void) {
    struct nest__loop *loop = &nest__loop;
    if (!loop->cut) {
        nest__accept_open(false);
        nest__accept.done = true;
        loop->due[NEST__DUE_CUT] = 0;
        loop->cut = true;
        loop->cutting = 0;
        nest__due_after(NEST__DUE_GRACE, STOP_GRACE_MS);
    }
}

/* Blocks and file calls are not cut, and may go on for ever. */
void nest__stop_abandon(void) {
    uint32_t left = nest__slots_taken();
    nest__loop.abandoned = true;
    nest__say("%u %s did not end in time; the server ends without", (unsigned)left,
              left == 1 ? "action" : "actions");
}

void nest__stop_begin(void) {
    struct nest__loop *loop = &nest__loop;
    if (loop->stopping && loop->drain < nest__slots_ever()) {
        loop->again = true; /* a session at rest is not cut, and one that is cut is counted */
        return;
    }
    if (loop->stopping) {
        nest__stop_over();
        return;
    }
    nest__notify("STOPPING=1");
    loop->stopping = true;
    loop->drain = 0;
    loop->due[NEST__DUE_IDLE_EXIT] = 0;
    nest__due_after(NEST__DUE_CUT, nest__config.drain_timeout);
    if (nest__listen_stop()) {
        nest__accept_open(false);
        nest__accept.done = true;
    }
}

void nest__stop_requested(int64_t count) {
    if (count >= NEST__RELOAD) {
        nest__config_reload();
    }
    for (uint32_t stops = (uint32_t)count; stops > 0; stops--) {
        nest__stop_begin();
    }
}

static void stop_drain(nest_session *s) {
    if (s->phase == NEST__ACTING) {
        nest__event(s, NEST__EVENT_DRAIN);
    } else if (s->phase != NEST__READING) {
        return;
    } else if ((s->flags & NEST__READY) != 0) {
        s->flags |= NEST__STOPPING; /* seen at its turn */
    } else if (s->work == NULL && s->c0.awaits == NEST__AWAIT_INPUT) {
        /* A message that is there was in time; told when it would wait. */
        nest__visit_receive(s, &s->c0);
    } else {
        nest__visit_tell(s, &s->c0, NEST__EVENT_DRAIN);
    }
}

static nest_session *stop_cut(nest_session *s) {
    if (s->phase == NEST__FREE) {
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
        nest__stop_over();
    }
    if (loop->cut && loop->cutting < nest__slots_ever()) {
        *resumed = stop_cut(nest__slot_at(loop->cutting++));
        return true;
    }
    return false;
}
