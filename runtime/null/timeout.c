/* timeout.c, without the feature: every connection has the server's idle limit.
 *
 * No state. nest_timeout is not there: a C helper that calls it does not link. */
#include "../seam.h"

uint32_t nest__idle_limit(const nest_session *s) {
    (void)s;
    return nest__config.idle_timeout;
}

uint64_t nest__timeout_memory(void) {
    return 0;
}
