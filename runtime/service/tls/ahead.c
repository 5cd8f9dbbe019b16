/* ahead.c: what comes before a handshake that an action begins: whether it may, queued output is
 * sent, and input is dropped.
 *
 * Called by nest_start_tls. No state. What the client sent before is not its own for certain:
 * somebody between it and the server can add to it. So it is dropped here, and never taken for what
 * comes encrypted. Must not know how a handshake works. */
#include "../../channel/channel.h"
#include "../../engine/engine.h"
#include "tls.h"

#include <errno.h>

int nest__tls_ahead(nest_session *s) {
    if (nest__input_fails(s)) {
        return -1;
    }
    enum nest_tls now = nest_tls(s);
    if (now != NEST_TLS_READY) {
        errno = now == NEST_TLS_ON ? EALREADY : ENOTSUP;
        return -1;
    }
    if (nest__out_queued(s, &s->c0) > 0 && nest__await_output(s, 0) < 0) {
        return -1;
    }
    if (nest__own(s, NULL) < 0) {
        return nest__cut_short(s, -ENOMEM);
    }
    uint32_t unread;
    (void)nest__unread_bytes(s, nest__acting(s)->window, &unread);
    nest__input_taken(s, unread);
    nest__chan_undress(&s->c0); /* what stages hold was in clear, too */
    return nest__chan_dress(&s->c0) < 0 ? nest__cut_short(s, -ENOMEM) : 0;
}
