/* heap.h: memory for $alloc, within the memory of %shared. heap_none.c: nothing allocates. */
#ifndef NEST_SERVICE_REGION_HEAP_H
#define NEST_SERVICE_REGION_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t nest__heap_least(void); /* bytes of a heap that can give something */
/* Makes a heap of these zeroed bytes. If they are too few, every allocation fails. */
void nest__heap_begin(void *memory, size_t size);
void *
nest__heap_take(size_t n); /* aligned as by malloc, not zeroed; NULL: no block is large enough */
/* False: nest__heap_take did not give this, or it has been freed. NULL is accepted. */
bool nest__heap_give(void *);
/* After a process was killed inside one of these functions, at whatever instruction. Takes time in
 * proportion to the number of blocks. False: something else has written over the heap. */
bool nest__heap_recover(void);

#endif
