/* processors.c: how many processors this process may use.
 *
 * Called by worker models. No state. Counts the CPU affinity and the quota of the control group;
 * version 1 keeps quota and period in two files, and only version 2's one file is read. */
#include "group.h"
#include "platform.h"

#include <sched.h>

/* "50000 100000": microseconds of a period; "max 100000": no limit. Returns whole processors,
 * rounded up. */
static uint64_t processors_quota(FILE *file) {
    unsigned long long quota, period;
    if (fscanf(file, "%llu %llu", &quota, &period) != 2 || period == 0) {
        return UINT64_MAX;
    }
    return (quota + period - 1) / period;
}

uint32_t nest__processors(void) {
    cpu_set_t set;
    uint64_t count = 1;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        count = (uint64_t)CPU_COUNT(&set);
    }
    uint64_t quota = nest__group_least("cpu", "cpu.max", "cpu.max", processors_quota);
    count = quota < count ? quota : count;
    return count == 0 ? 1 : (uint32_t)count;
}
