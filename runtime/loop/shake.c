/* shake.c: a loop's connections whose handshake comes before START; see shake.h.
 *
 * Called by the other files of loop/. No state. Must not know how a handshake works. It is a
 * receive that brings no bytes, and in the end -EISCONN. */
#include "shake.h"
#include "../channel/channel.h"
#include "../service/filters/filters.h"
#include "../service/proxied/proxied.h"
#include "accept.h"

#include <errno.h>

void nest__shake_give_up(nest_session *s) {
    s->phase = NEST__ENDED;
    nest__end_release(s, &s->c0);
}

static void shake_scarce(nest_session *s) {
    nest__accept_pause(-ENOMEM);
    nest__shake_give_up(s);
}

static void shake_wait(nest_session *s, enum nest__await what) {
    if (!nest__poller_await(s, &s->c0, what)) {
        shake_scarce(s);
    }
}

/* It is refused. What is unread, or what the client is told, must not be lost by closing. */
static void shake_refuse(nest_session *s) {
    s->phase = NEST__ENDED;
    s->flags = NEST__UNREAD;
    nest__end_finish(s, &s->c0);
}

static void shake_encrypt(nest_session *s) {
    if (nest__tls_begin(&s->c0) < 0) {
        shake_scarce(s);
        return;
    }
    nest__session_until(s, nest__after(nest__now(), nest__tls_limit()));
    shake_wait(s, NEST__AWAIT_INPUT);
}

/* -- the header of a proxy: until it is complete, the channel is not encrypted */

static bool shake_headless(const nest_session *s) {
    return NEST__PROXIED && !nest__tls_is(&s->c0);
}

static void shake_header(nest_session *s, const struct nest__arrival *arrival) {
    if (!NEST__PROXIED || nest__proxied_open(s, arrival) < 0) {
        shake_scarce(s);
        return;
    }
    nest__session_until(s, nest__after(nest__now(), nest__proxied_limit()));
    shake_wait(s, NEST__AWAIT_READY); /* a poller that receives would take bytes behind it */
}

void nest__shake_ready(nest_session *s, int64_t result) {
    int error = -ECONNRESET;
    if (NEST__PROXIED && result >= 0) {
        error = nest__proxied_ahead(s);
    }
    if (error == 0) {
        shake_encrypt(s);
    } else if (error == -EAGAIN) {
        shake_wait(s, NEST__AWAIT_READY);
    } else if (error == -EPROTO) {
        shake_refuse(s);
    } else {
        nest__shake_give_up(s);
    }
}

void nest__shake_late(nest_session *s) {
    if (NEST__PROXIED && shake_headless(s)) {
        nest__proxied_say(s, "has not arrived in time");
    }
    nest__shake_give_up(s);
}

/* -- the handshake */

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
    if (NEST__PROXIED && arrival->proxied) {
        shake_header(s, arrival);
    } else {
        shake_encrypt(s);
    }
    return true;
}

void nest__shake_received(nest_session *s, int64_t result) {
    if (result == -EISCONN) {
        struct nest__arrival arrival = {.fd = s->c0.fd,
                                        .kind = s->c0.kind,
                                        .listener = s->last,
                                        .io = s->c0.io,
                                        .headed = nest__listeners[s->last].proxied};
        nest__wheel_drop(&s->until);
        nest__accept_session(s, &arrival);
    } else {
        shake_refuse(s);
    }
}
