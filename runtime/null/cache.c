/* cache.c, without files: a loop keeps none open. Called by io. No state. */
#include "../seam.h"

uint32_t nest__cache_limit(uint64_t most) {
    (void)most;
    return 0;
}

bool nest__cache_used(void) {
    return false;
}

bool nest__cache_expire(void) {
    return false;
}

int nest__cache_close(void *unused) {
    (void)unused;
    return 0;
}
