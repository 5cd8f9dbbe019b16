/* script.c: a script has no encryption. No state. */
#include "tls.h"

#include <errno.h>

enum nest_tls nest_tls(nest_session *s) {
    (void)s;
    return NEST_TLS_NONE;
}

int nest_start_tls(nest_session *s) {
    (void)s;
    errno = ENOTSUP;
    return -1;
}
