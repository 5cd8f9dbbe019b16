/* periodic.c: runs the code of each %timer when its time has come.
 *
 * Called by the service process, or by a script's loop. State: when each is due. A run that was
 * missed, because another took long, is not made up for. */
#include "periodic.h"
#include "../../platform/platform.h"

#include <stdlib.h>

enum { PERIODIC_LONG_MS = 1000 };

static uint64_t *periodic_due; /* scope: process; of each timer; NULL: the time has not begun */

static void periodic_run(unsigned i, uint64_t (*clock)(void)) {
    const struct nest__periodic *timer = &nest__spec_periodic[i];
    uint64_t before = clock();
    timer->run();
    uint64_t took = clock() - before;
    if (took >= PERIODIC_LONG_MS) {
        nest__say("%%timer at %s:%u ran for %llu ms", timer->file, (unsigned)timer->line,
                  (unsigned long long)took);
    }
    uint64_t now = clock();
    periodic_due[i] += timer->every;
    if (periodic_due[i] <= now) {
        periodic_due[i] = now + timer->every;
    }
}

uint32_t nest__periodic_next(uint64_t now) {
    uint64_t next = UINT64_MAX;
    if (periodic_due == NULL) {
        periodic_due = calloc(nest__spec_periodic_count, sizeof *periodic_due);
        for (unsigned i = 0; i < nest__spec_periodic_count && periodic_due != NULL; i++) {
            periodic_due[i] = now + nest__spec_periodic[i].every;
        }
    }
    for (unsigned i = 0; i < nest__spec_periodic_count && periodic_due != NULL; i++) {
        next = periodic_due[i] < next ? periodic_due[i] : next;
    }
    if (periodic_due == NULL) {
        return 1000; /* tried again */
    }
    return next <= now ? 1 : (uint32_t)(next - now);
}

void nest__periodic_step(uint64_t now, uint64_t (*clock)(void)) {
    for (unsigned i = 0; i < nest__spec_periodic_count && periodic_due != NULL; i++) {
        if (periodic_due[i] <= now) {
            periodic_run(i, clock);
        }
    }
}
