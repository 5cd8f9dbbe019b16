/* upgrade.c: a connection becomes encrypted when an action says so, unless its listener has the
 * word tls.
 *
 * Called by actions. No state. Must not know how a handshake works. */
#include "../../channel/channel.h"
#include "../../engine/engine.h"
#include "tls.h"

bool nest__tls_wanted(uint8_t listener) {
    return nest__listeners[listener].tls == NEST__LISTEN_TLS;
}

enum nest_tls nest_tls(nest_session *s) {
    return nest__tls_is(&s->c0)  ? NEST_TLS_ON
           : nest__tls_offered() ? NEST_TLS_READY
                                 : NEST_TLS_NONE;
}

static int upgrade_shake(nest_session *s) {
    uint8_t none[1]; /* a handshake is a receive that brings no bytes */
    struct nest__wait wait = {.what = NEST__INPUT,
                              .chan = &s->c0,
                              .into = none,
                              .room = sizeof none,
                              .deadline = nest__after(nest__clock(), nest__tls_limit())};
    int result = nest__wait_in_fiber(s, &wait);
    if (result == -EISCONN) {
        return 0;
    }
    return nest__cut_short(s, result < 0 ? result : -ECONNRESET);
}

__attribute__((noinline)) static int upgrade_start_tls(nest_session *s) {
    if (nest__tls_ahead(s) < 0) {
        return -1;
    }
    if (nest__tls_begin(&s->c0) < 0) {
        return nest__cut_short(s, -ENOMEM);
    }
    nest__tls_in_turns(&s->c0);
    return upgrade_shake(s);
}

int nest_start_tls(nest_session *s) {
    struct nest__trip *trip = nest__at_home(s);
    int result = upgrade_start_tls(s);
    nest__from_home(trip);
    return result;
}
