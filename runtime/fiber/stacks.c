/* stacks.c: guarded stacks for actions that wait.
 *
 * Called by fiber.c. State: the current reservation of this process. Each stack reserves its whole
 * size of address space, and uses memory only after it is written. Stacks are never unmapped,
 * because the fiber switch reuses them. Must not know what runs on them.
 *
 * One reservation serves many stacks. If the kernel supports it (Linux 6.13), guard pages are
 * installed inside the reservation. Otherwise mprotect splits the mapping, and a process can have
 * only 65,530 mappings. */
#include "fiber.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STACKS_TOGETHER = 64 };
enum { STACKS_GUARD_INSTALL = 102 /* MADV_GUARD_INSTALL */ };

static uint8_t *stacks_next;
static unsigned stacks_left;

int nest__stack_take(void **stack) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (stacks_left == 0) {
        void *all = mmap(NULL, (size_t)NEST__STACK_SIZE * STACKS_TOGETHER, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (all == MAP_FAILED) {
            return -ENOMEM;
        }
        stacks_next = all;
        stacks_left = STACKS_TOGETHER;
    }
    if (madvise(stacks_next, page, STACKS_GUARD_INSTALL) == -1 &&
        mprotect(stacks_next, page, PROT_NONE) == -1) {
        return -ENOMEM;
    }
    *stack = stacks_next;
    stacks_next += NEST__STACK_SIZE;
    stacks_left--;
    return 0;
}
