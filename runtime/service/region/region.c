/* region.c: the memory of %shared.
 *
 * Called at join points, and by the lock. State: the mapping, which every process inherits at the
 * same address. Must not know who may use it when. The first page belongs to the lock; the
 * variables follow. */
#include "heap.h"
#include "region.h"
#include "../../platform/platform.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* scope: server */
static struct {
    char *memory; /* the lock's page, then what is shared */
    size_t page, size;
    bool fresh; /* the initial values are being set */
} region;

void nest__region_fresh(void) {
    if (madvise(region.memory, region.size, MADV_REMOVE) == -1) {
        memset(region.memory, 0, region.size);
    }
    nest__region_lock_fresh(region.memory);
    char *variables = region.memory + region.page;
    nest__heap_begin(variables + nest__spec_shared_size,
                     region.size - region.page - nest__spec_shared_size);
    region.fresh = true;
    nest__spec_shared_begin(variables);
    region.fresh = false;
}

bool nest__region_inside(void) {
    return region.fresh || nest__region_holds();
}

bool nest__region_recover(void) {
    return nest__heap_recover();
}

void nest__region_misused(const char *how) {
    nest__say("an action %s $lock", how);
    abort();
}

struct nest__need nest__region_common(void) {
    uint64_t size = nest__region_size();
    return (struct nest__need){"%shared", "sharedSize", size, size};
}

int nest__region_start(void) {
    region.page = (size_t)sysconf(_SC_PAGESIZE);
    region.size = region.page + (size_t)nest__region_size();
    void *memory = mmap(NULL, region.size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        nest__say("cannot start: no memory for the %s of %%shared", nest__config.shared_size);
        return -ENOMEM;
    }
    region.memory = memory;
    nest__region_fresh();
    return 0;
}
