/* told.c: how many sessions of a server are being told that they are turned away.
 *
 * Called by overload.c and at a join point. State: a count in each loop's report, which only it
 * writes to. A report that was written over is left out. */
#include "../../workers/dispatchers.h"
#include "../../workers/shared.h"
#include "overload.h"

static size_t told_at;                 /* scope: server; in a report */
static _Atomic uint32_t told_unshared; /* scope: process; the count of one that has no report */

int nest__overload_start(void) {
    told_at = nest__report_reserve(sizeof(uint32_t));
    return 0;
}

static _Atomic uint32_t *told_own(void) {
    _Atomic uint32_t *own = nest__report_own(told_at);
    return own != NULL ? own : &told_unshared;
}

void nest__overload_told_add(int count) {
    atomic_fetch_add(told_own(), (uint32_t)count);
}

uint32_t nest__overload_told_own(void) {
    return atomic_load(told_own());
}

uint32_t nest__overload_told_all(void) {
    uint32_t told = atomic_load(&told_unshared);
    for (uint32_t worker = 0; nest__orders_page != NULL && worker < nest__share_most(); worker++) {
        char *report = nest__report_page(worker);
        if (nest__report_sound((const struct nest__report *)(void *)report)) {
            told += atomic_load((_Atomic uint32_t *)(void *)(report + told_at));
        }
    }
    return told;
}
