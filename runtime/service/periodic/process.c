/* process.c: %timer in the service process. No state. */
#include "../../platform/platform.h"
#include "../../workers/service_process.h"
#include "periodic.h"

static int periodic_begin(void) {
    return 0;
}

static unsigned periodic_waits(struct pollfd waits[NEST__TASK_WAITS]) {
    (void)waits;
    return 0;
}

static int periodic_work(const struct pollfd waits[NEST__TASK_WAITS], unsigned n) {
    (void)waits, (void)n;
    nest__periodic_step(nest__clock_ms(), nest__clock_ms);
    return (int)nest__periodic_next(nest__clock_ms());
}

unsigned nest__periodic_due(void) {
    return 0;
}

void nest__periodic_tick(void) {
}

const struct nest__task nest__periodic_task = {"%timer", periodic_begin, periodic_waits,
                                               periodic_work, NULL};
