/* shake.c: a loop's connections whose handshake comes before START; see shake.h.
 *
 * Called by the other files of loop/. No state. Must not know how a handshake works. It is a
 * receive that brings no bytes, and in the end -EISCONN. */
#include "shake.h"
#include "../channel/channel.h"
#include "../service/filters/filters.h"
#include "accept.h"

#include <errno.h>

void nest__shake_give_up(nest_session *s) {
    s->phase = NEST__ENDED;
    nest__end_release(s, &s->c0);
}

static void shake_wait(nest_session *s) {
    if (!nest__poller_await(s, &s->c0, NEST__AWAIT_INPUT)) {
        nest__accept_pause(-ENOMEM);
        nest__shake_give_up(s);
    }
}

bool nest__shake_begin(nest_session *s, const struct nest__arrival *arrival) {
    if (!nest__tls_wanted(arrival->listener)) {
        return false;
    }
    s->work = NULL;
    s->c0 = (struct nest__chan){.fd = arrival->fd, .kind = arrival->kind, .state = NEST__CHAN_MORE};
    s->channels = 0;
    s->flags = 0;
    s->waiter = NULL;
    s->last = arrival->listener; /* no state has been set yet */
    s->phase = NEST__SHAKING;
    nest__filters_open(s); /* others arrive before it is opened: the leases are its own from here */
    if (nest__tls_begin(&s->c0) < 0) {
        nest__accept_pause(-ENOMEM);
        nest__shake_give_up(s);
        return true;
    }
    nest__session_until(s, nest__after(nest__now(), nest__tls_limit()));
    shake_wait(s);
    return true;
}

void nest__shake_received(nest_session *s, int64_t result) {
    if (result == -EISCONN) {
        struct nest__arrival arrival = {
            .fd = s->c0.fd, .kind = s->c0.kind, .listener = s->last, .io = s->c0.io};
        nest__wheel_drop(&s->until);
        nest__accept_session(s, &arrival);
    } else { /* what the client is told about it must not be lost by closing */
        s->phase = NEST__ENDED;
        s->flags = NEST__UNREAD;
        nest__end_finish(s, &s->c0);
    }
}
