/* watch.c: the watcher's look at the seats of all carriers.
 *
 * Called by crew/process.c and crew/thread.c. No state of its own. Must not know sessions, nor how
 * a carrier is roused. */
#include "watch.h"
#include "../platform/platform.h"

enum { WATCH_TICK_MS = 10 }; /* the cheap clock may be behind by as much */

struct nest__look nest__look_begin(void) {
    struct nest__look look = {.now = nest__now()};
    atomic_store(&nest__watch->planned, 0); /* who comes behind the look wakes us again */
    return look;
}

bool nest__look_at(struct nest__look *look, struct nest__seat *seat) {
    uint32_t deadline = atomic_load(&seat->deadline);
    if (deadline == 0) {
        return false;
    }
    if (nest__reached(deadline, look->now)) {
        return atomic_compare_exchange_strong(&seat->deadline, &deadline, 0);
    }
    if (look->next == 0 || (int32_t)(deadline - look->next) < 0) {
        look->next = deadline;
    }
    return false;
}

int nest__look_end(const struct nest__look *look) {
    if (look->next == 0) {
        return -1;
    }
    atomic_store(&nest__watch->planned, look->next);
    return (int)(look->next - look->now) + WATCH_TICK_MS;
}
