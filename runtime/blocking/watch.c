/* watch.c: the watcher's look at the slots of all workers.
 *
 * Called by workers/process.c and workers/thread.c. No state of its own. Must not know sessions,
 * nor how a worker is woken. */
#include "watch.h"
#include "../platform/platform.h"

enum { WATCH_TICK_MS = 10 }; /* the cheap clock may be behind by as much */

static int watch_sleep(uint32_t planned, uint32_t now) {
    return planned == 0 ? -1 : (int)(planned - now) + WATCH_TICK_MS;
}

bool nest__look_due(bool asked, int *timeout) {
    uint32_t planned = atomic_load(&nest__watch->planned), now = nest__now();
    if (asked || (planned != 0 && nest__reached(planned, now))) {
        return true;
    }
    *timeout = watch_sleep(planned, now);
    return false;
}

struct nest__look nest__look_begin(void) {
    struct nest__look look = {.now = nest__now()};
    look.before =
        atomic_exchange(&nest__watch->planned, 0); /* who comes behind us wakes us again */
    return look;
}

bool nest__look_at(struct nest__look *look, struct nest__deadline_slot *slot) {
    uint32_t deadline = atomic_load(&slot->deadline);
    if (deadline == 0) {
        return false;
    }
    if (nest__reached(deadline, look->now)) {
        return atomic_compare_exchange_strong(&slot->deadline, &deadline, 0);
    }
    if (look->next == 0 || (int32_t)(deadline - look->next) < 0) {
        look->next = deadline;
    }
    return false;
}

/* With nobody there the plan stays as it was, which spares the next one a call, and costs a look.
 */
int nest__look_end(const struct nest__look *look) {
    uint32_t next = look->next;
    if (next == 0 && look->before != 0 && !nest__reached(look->before, look->now)) {
        next = look->before;
    }
    if (next != 0) {
        (void)nest__watch_plan(next);
    }
    return watch_sleep(atomic_load(&nest__watch->planned), look->now);
}
