/* watch.c: the watcher's look at the slots of all workers.
 *
 * Called by workers/spares.c and workers/thread.c. State: when the next look is due, the watcher's.
 * Must not know sessions, nor how a worker is woken. */
#include "watch.h"
#include "../platform/platform.h"

static uint32_t watch_planned; /* the watcher's own: what it shares might be written over */

enum { WATCH_TICK_MS = 10 }; /* the cheap clock may be behind by as much */

static int watch_sleep(uint32_t planned, uint32_t now) {
    return planned == 0 ? -1 : (int)(planned - now) + WATCH_TICK_MS;
}

bool nest__look_due(bool asked, int *timeout) {
    uint32_t planned = watch_planned, now = nest__now();
    if (asked || (planned != 0 && nest__reached(planned, now))) {
        return true;
    }
    *timeout = watch_sleep(planned, now);
    return false;
}

struct nest__look nest__look_begin(void) {
    struct nest__look look = {.now = nest__now()};
    look.before = watch_planned;
    atomic_fetch_add(&nest__watch->looks, 1); /* who comes behind us wakes us again */
    atomic_store(&nest__watch->planned, 0);
    return look;
}

/* The earlier of two deadlines; 0 is none. */
static uint32_t watch_earlier(uint32_t a, uint32_t b) {
    return a == 0 || (b != 0 && (int32_t)(b - a) < 0) ? b : a;
}

bool nest__look_at(struct nest__look *look, struct nest__deadline_slot *slot) {
    uint32_t wished = atomic_load(&slot->wished);
    if (wished != 0) {
        atomic_store(&slot->wished, 0);
        look->before = watch_earlier(look->before, wished);
    }
    uint32_t deadline = atomic_load(&slot->deadline);
    if (deadline == 0) {
        return false;
    }
    if (nest__reached(deadline, look->now)) {
        return atomic_compare_exchange_strong(&slot->deadline, &deadline, 0);
    }
    look->next = watch_earlier(look->next, deadline);
    return false;
}

/* With nobody in a receive the plan stays as it was, which spares the next one a call, and costs a
 * look. */
int nest__look_end(const struct nest__look *look) {
    uint32_t next = look->next;
    if (next == 0 && look->before != 0 && !nest__reached(look->before, look->now)) {
        next = look->before;
    }
    watch_planned = next;
    atomic_store(&nest__watch->planned, next);
    return watch_sleep(next, look->now);
}
