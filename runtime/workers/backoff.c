/* backoff.c: how long to wait before what has failed is tried again: twice as long each time.
 *
 * Called by the supervisor. State: the caller's. Must not know what is tried. */
#include "../platform/platform.h"
#include "children.h"

enum { BACKOFF_MS = 100, BACKOFF_MOST_MS = 5000 };

uint32_t nest__backoff_more(struct nest__backoff *backoff) {
    uint32_t delay = BACKOFF_MS;
    for (uint32_t i = 0; i < backoff->failures && delay < BACKOFF_MOST_MS; i++) {
        delay *= 2;
    }
    delay = delay < BACKOFF_MOST_MS ? delay : BACKOFF_MOST_MS;
    backoff->failures++;
    backoff->not_before = nest__clock_ms() + delay;
    return delay;
}

int nest__backoff_left(const struct nest__backoff *backoff) {
    uint64_t now = nest__clock_ms();
    return backoff->failures > 0 && now < backoff->not_before ? (int)(backoff->not_before - now)
                                                              : 0;
}
