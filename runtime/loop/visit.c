/* visit.c: a session that can go on is given its input, sends its output, and is left to wait
 * again.
 *
 * Called by the other files of loop/. No state. Must not know the language, nor how bytes move. */
#include "loop.h"
#include "accept.h"
#include "channels.h"
#include "many.h"
#include "ready.h"
#include "../service/filters/returns.h"

#include <errno.h>

uint32_t nest__receive_space(nest_session *s, struct nest__chan *chan, uint8_t **p) {
    *p = NULL;
    if ((s->flags & NEST__WAITING) != 0) {
        const struct nest__wait *wait = ((const struct nest__waiter *)s->waiter)->wait;
        struct nest__member *member = nest__member_of(s, chan);
        if (member != NULL) {
            return nest__many_space(member, p);
        }
        *p = wait->into;
        return wait->room < NEST__VISIT_IN ? wait->room : NEST__VISIT_IN; /* the others wait */
    }
    uint32_t room = nest__in_space(s, chan, p);
    room = room > 0 ? room : NEST__VISIT_IN;
    return NEST__RETURNS ? nest__filters_room(s, room) : room;
}

void nest__visit_settle(nest_session *s, struct nest__chan *chan, unsigned want,
                        struct nest__window *window) {
    for (;;) {
        (void)nest__channels_settle(s); /* the session waits on channel 0: nothing else fails */
        if ((want & NEST__WANT_WRITE) != 0 && nest__push(s, chan) < 0) {
            want = nest__event(s, NEST__EVENT_RESET);
            continue;
        }
        uint64_t queued = nest__out_queued(s, chan);
        if ((want & NEST__WANT_END) != 0 && queued == 0) {
            nest__end_finish(s, chan);
            return;
        }
        if (nest__loop.cut) {
            *window = (struct nest__window){NULL, 0, false};
            want = nest__event(s, NEST__EVENT_CUT);
            continue;
        }
        if (nest__own(s, window) == 0) {
            if (nest__loop.stopping && nest__reads(s) && (s->flags & NEST__STOPPING) == 0) {
                want = nest__event(s, NEST__EVENT_DRAIN);
                continue;
            }
            if (queued == 0 && (want & NEST__WANT_AGAIN) != 0) {
                nest__ready_add(s);
                return;
            }
            if (nest__poller_await(s, chan, queued > 0 ? NEST__AWAIT_OUTPUT : NEST__AWAIT_INPUT)) {
                nest__session_until(s, nest__deadline(s));
                return;
            }
        }
        nest__accept_pause(-ENOMEM);
        *window = (struct nest__window){NULL, 0, false};
        want = nest__event(s, NEST__EVENT_RESET);
    }
}

void nest__visit_go_on(nest_session *s, struct nest__chan *chan) {
    struct nest__window none = {NULL, 0, false};
    unsigned want = nest__pump(s, chan, &none);
    nest__visit_settle(s, chan, want, &none);
}

void nest__visit_tell(nest_session *s, struct nest__chan *chan, enum nest__event event) {
    struct nest__window none = {NULL, 0, false};
    unsigned want = nest__event(s, event);
    nest__visit_settle(s, chan, want, &none);
}

void nest__visit_received(nest_session *s, struct nest__chan *chan,
                          const struct nest__completion *done) {
    struct nest__window window = done->window;
    if (done->result <= 0) {
        nest__visit_tell(s, chan, done->result == 0 ? NEST__EVENT_EOF : NEST__EVENT_RESET);
        return;
    }
    if (NEST__RETURNS) {
        nest__filters_received(s, window.n);
    }
    if (nest__ready_hold(s, &window)) {
        return;
    }
    unsigned want = nest__pump(s, chan, &window);
    nest__visit_settle(s, chan, want, &window);
}

void nest__visit_receive(nest_session *s, struct nest__chan *chan) {
    struct nest__completion done = {.window = {NULL, 0, false}};
    done.result = nest__poller_receive(s, chan, &done.window);
    if (done.result == -EAGAIN) {
        done.window = (struct nest__window){NULL, 0, false};
        nest__visit_settle(s, chan, NEST__WANT_READ | NEST__WANT_WRITE, &done.window);
    } else {
        nest__visit_received(s, chan, &done);
    }
}

void nest__visit_move(nest_session *s, struct nest__chan *chan) {
    if (nest__out_queued(s, chan) == 0) {
        if (chan->awaits == NEST__AWAIT_OUTPUT) { /* all has left */
            nest__visit_go_on(s, chan);
        } else {
            nest__visit_receive(s, chan);
        }
    } else if (nest__push(s, chan) < 0) {
        nest__visit_tell(s, chan, NEST__EVENT_RESET);
    } else if (nest__out_queued(s, chan) == 0) {
        nest__visit_go_on(s, chan);
    } else {
        (void)nest__poller_await(s, chan, NEST__AWAIT_OUTPUT); /* as before: cannot fail */
        nest__session_until(s, nest__deadline(s));             /* some has left */
    }
}
