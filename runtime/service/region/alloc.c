/* alloc.c: $alloc and $free: memory of %shared. No state. */
#include "heap.h"
#include "region.h"

void *nest_alloc(size_t n) {
    if (!nest__region_inside()) {
        nest__region_misused("allocates outside");
    }
    return nest__heap_take(n);
}

void nest_free(void *p) {
    if (!nest__region_inside()) {
        nest__region_misused("frees outside");
    }
    if (!nest__heap_give(p)) {
        nest__region_misused("frees what $alloc did not give, or twice, in");
    }
}
