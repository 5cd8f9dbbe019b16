/* shake.c: a loop's connections whose handshake comes before START; see shake.h.
 *
 * Called by the other files of loop/. State: how many there are, of this process's loop. Must not
 * know how a handshake works. It is a receive that brings no bytes, and in the end -EISCONN. */
#include "shake.h"
#include "../channel/channel.h"
#include "../service/filters/filters.h"
#include "../service/proxied/proxied.h"
#include "accept.h"
#include "ready.h"
#include "share.h"
#include "slots.h"

#include <errno.h>

enum { SHAKE_LOOK_MS = 1000 };

static uint32_t shakes;

static void shake_over(nest_session *s) {
    nest__ready_drop(s);
    s->phase = NEST__ENDED;
    shakes--;
}

void nest__shake_give_up(nest_session *s) {
    shake_over(s);
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
    shake_over(s);
    s->flags = NEST__UNREAD;
    nest__end_finish(s, &s->c0);
}

/* -- deadlines: `expires` is the end of the time limit, `until` the next look */

static void shake_until_look(nest_session *s, uint32_t now) {
    nest__session_until(s, nest__earlier(nest__after(now, SHAKE_LOOK_MS), s->expires));
}

static void shake_begin_limit(nest_session *s, uint32_t limit) {
    uint32_t now = nest__now();
    s->expires = nest__after(now, limit);
    s->last_turn = false;
    shake_until_look(s, now);
}

/* Soon nobody else is accepted, because of clients that have not finished their handshakes. */
static bool shake_crowded(void) {
    uint32_t most = nest__config.max_clients;
    return nest__share_clients() >= most - most / 4 && shakes > nest__slots_taken() / 2;
}

static void shake_encrypt(nest_session *s) {
    if (!nest__tls_admits(s)) {
        s->c0.state |= NEST__CHAN_CUT;
        nest__shake_give_up(s);
        return;
    }
    if (nest__tls_begin(&s->c0) < 0) {
        shake_scarce(s);
        return;
    }
    nest__tls_in_turns(&s->c0);
    shake_begin_limit(s, nest__tls_limit());
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
    shake_begin_limit(s, nest__proxied_limit());
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

void nest__shake_look(nest_session *s) {
    uint32_t now = nest__now();
    bool late = nest__reached(s->expires, now), headless = shake_headless(s);
    if (!late && !shake_crowded()) {
        shake_until_look(s, now);
    } else if (!headless && !s->last_turn && nest__poller_pending(s, &s->c0)) {
        s->last_turn = true; /* what it has sent comes first, once: it may send for ever */
        nest__ready_add(s);
    } else {
        if (NEST__PROXIED && headless && late) {
            nest__proxied_say(s, "has not arrived in time");
        }
        nest__shake_give_up(s);
    }
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
    s->last = arrival->listener; /* no state has been set yet */
    s->phase = NEST__SHAKING;
    shakes++;
    nest__ready_arrives(s, arrival->listener);
    nest__filters_open(s); /* others arrive before it is opened: the leases are its own from here */
    if (NEST__PROXIED && arrival->proxied) {
        shake_header(s, arrival);
    } else {
        shake_encrypt(s);
    }
    return true;
}

void nest__shake_turn(nest_session *s) {
    struct nest__window window = {NULL, 0, false};
    int64_t result = nest__poller_receive(s, &s->c0, &window);
    if (result == -EALREADY) {
        nest__ready_add(s);
    } else if (result == -EAGAIN) {
        shake_until_look(s, nest__now());
        shake_wait(s, NEST__AWAIT_INPUT);
    } else {
        nest__shake_received(s, result);
    }
}

void nest__shake_received(nest_session *s, int64_t result) {
    if (result == -EISCONN) {
        struct nest__arrival arrival = {.fd = s->c0.fd,
                                        .kind = s->c0.kind,
                                        .listener = s->last,
                                        .io = s->c0.io,
                                        .headed = nest__listeners[s->last].proxied};
        shake_over(s);
        s->waiter = NULL;
        nest__wheel_drop(&s->until);
        nest__accept_session(s, &arrival);
    } else {
        shake_refuse(s);
    }
}
