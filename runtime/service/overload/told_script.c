/* told_script.c: how many sessions of a script are being told that they are turned away.
 *
 * Called by overload.c and at a join point. State: their number. */
#include "overload.h"

static uint32_t told; /* scope: process */

int nest__overload_start(void) {
    return 0;
}

void nest__overload_told_add(int count) {
    told += (uint32_t)count;
}

uint32_t nest__overload_told_own(void) {
    return told;
}

uint32_t nest__overload_told_all(void) {
    return told;
}
