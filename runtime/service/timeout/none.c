/* none.c: every connection has the server's idle limit.
 *
 * No state. A C function that calls nest_timeout cannot be linked. */
#include "../../seam.h"

uint32_t nest__idle_limit(const nest_session *s) {
    (void)s;
    return nest__config.idle_timeout;
}
