/* script_none.c: a script has no encryption, and no action of this specification begins it.
 *
 * The environment variable NEST_ENCRYPTED says that the script stands for encrypted connections.
 * `nest bench` learns from it what a server answers to them. No state. */
#include "tls.h"

#include <errno.h>
#include <stdlib.h>

enum nest_tls nest_tls(nest_session *s) {
    (void)s;
    return getenv("NEST_ENCRYPTED") == NULL ? NEST_TLS_NONE : NEST_TLS_ON;
}

int nest_start_tls(nest_session *s) { /* for C helpers */
    errno = nest_tls(s) == NEST_TLS_ON ? EALREADY : ENOTSUP;
    return -1;
}
