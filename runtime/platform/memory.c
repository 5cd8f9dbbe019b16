/* memory.c: how much memory this process may use, and arrays with one element per slot.
 *
 * Called by main and by services. No state. The limit is that of the process (ulimit -v) or of its
 * control group. */
#include "group.h"
#include "platform.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t memory_limit(FILE *file) {
    unsigned long long number;
    return fscanf(file, "%llu", &number) == 1 ? number : UINT64_MAX; /* "max" */
}

uint64_t nest__memory_most(void) {
    uint64_t group =
        nest__group_least("memory", "memory.max", "memory.limit_in_bytes", memory_limit);
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t machine = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
    return group < machine ? group : machine;
}

void nest__memory_text(uint64_t bytes, char to[32]) {
    static const char units[] = "KMGT";
    unsigned unit = 0;
    uint64_t n = (bytes + 1023) / 1024;
    while (n >= 10000 && unit < 3) {
        n = (n + 1023) / 1024;
        unit++;
    }
    snprintf(to, 32, "%llu%c", (unsigned long long)n, units[unit]);
}

/* In glibc each thread that allocates reserves 64 MB of address space. If the address space is
 * limited, all threads share one arena. */
static void memory_is_shared(void) {
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
#endif
}

int nest__memory_budget(uint64_t alone, uint64_t most, uint32_t processes) {
    struct rlimit space;
    char needed[32], allowed[32];
    bool fits;
    uint64_t limit =
        nest__group_least("memory", "memory.max", "memory.limit_in_bytes", memory_limit);
    const char *raise = "of its control group";
    if (getrlimit(RLIMIT_AS, &space) != -1 && space.rlim_cur != RLIM_INFINITY) {
        memory_is_shared();
        if (space.rlim_cur < limit / processes) {
            limit = space.rlim_cur * processes;
            raise = "ulimit -v";
        }
    }
    if (most <= limit) {
        return 0;
    }
    fits = alone <= limit;
    nest__memory_text(fits ? most : alone, needed);
    nest__memory_text(limit, allowed);
    nest__say("%u %s %s %s of memory %s, but the limit is %s; lower maxClients, inputBuffer "
              "or outputBuffer, or raise the limit (%s)%s",
              (unsigned)nest__config.max_clients,
              nest__config.max_clients == 1 ? "client" : "clients", fits ? "may need" : "can use",
              needed, fits ? "for actions" : "if they send much and read nothing", allowed, raise,
              fits ? "; otherwise some may have to wait or be cut off" : "");
    return fits ? 0 : -ENOMEM;
}

void *nest__slab_make(_Atomic(void *) *slab, size_t each) {
    size_t size = nest__config.max_clients * each;
    void *there = NULL, *made = mmap(NULL, size, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) {
        return NULL;
    }
    if (atomic_compare_exchange_strong(slab, &there, made)) {
        return made;
    }
    munmap(made, size); /* another thread was faster: use its array */
    return there;
}
