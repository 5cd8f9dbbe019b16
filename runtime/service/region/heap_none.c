/* heap_none.c: nothing is allocated in the memory of %shared. No state. */
#include "heap.h"

size_t nest__heap_least(void) {
    return 0;
}

void nest__heap_begin(void *memory, size_t size) {
    (void)memory, (void)size;
}

bool nest__heap_recover(void) {
    return true;
}
