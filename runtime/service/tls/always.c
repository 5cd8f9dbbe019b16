/* always.c: in servers whose actions cannot begin encryption: connections are encrypted from their
 * beginning, or not at all. No state. */
#include "../../channel/tls.h"
#include "tls.h"

#include <errno.h>

bool nest__tls_wanted(uint8_t listener) {
    uint8_t said = nest__listeners[listener].tls;
    return said == NEST__LISTEN_TLS || (said == NEST__LISTEN_UNSAID && nest__tls_offered());
}

enum nest_tls nest_tls(nest_session *s) {
    return nest__tls_is(&s->c0) ? NEST_TLS_ON : NEST_TLS_NONE;
}

int nest_start_tls(nest_session *s) { /* for C helpers: no action of the specification calls it */
    errno = nest__tls_is(&s->c0) ? EALREADY : ENOTSUP;
    return -1;
}
