/* loop.c: %timer in a server without sockets: on the loop, between two actions.
 * State: the time. */
#include "periodic.h"

static uint64_t loop_time; /* scope: process. The clock's 32 bits, extended */

static uint64_t loop_clock(void) {
    loop_time += nest__clock() - (uint32_t)loop_time;
    return loop_time;
}

unsigned nest__periodic_due(void) {
    return nest__periodic_next(loop_clock());
}

void nest__periodic_tick(void) {
    nest__periodic_step(loop_clock(), loop_clock);
}
