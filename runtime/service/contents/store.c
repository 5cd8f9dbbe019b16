/* store.c: the memory that option fileCache needs: the store, and what workers say.
 *
 * Called at join points, by main and the supervisor. State: where everything is, the same in all
 * processes. Must not know policies, nor files. */
#include "store.h"
#include "../../platform/platform.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

enum {
    STORE_FILE = 2 * 1024, /* an entry for each so many bytes */
    STORE_ENTRIES_LEAST = 64,
    STORE_ENTRIES_MOST = 1 << 20,
    STORE_PINS_MANY = 1024, /* of a worker that serves many clients */
    STORE_USES_MANY = 8192,
    STORE_PINS_ONE = 32, /* as many files as an action can have open, and more */
    STORE_USES_ONE = 256
};

struct nest__layout nest__contents; /* scope: server; constant once workers exist */

/* -- memory --------------------------------------------------------------------------------------
 */

static size_t store_round(size_t bytes) {
    return (bytes + 4095) / 4096 * 4096;
}

/* Sizes and places of everything, beside `store`. */
static struct nest__layout store_layout(char *memory) {
    struct nest__layout layout;
    const char *text = nest__config.file_cache;
    if (!nest__contents_parse(text == NULL ? "none" : text, &layout) || layout.size == 0) {
        return (struct nest__layout){.size = 0};
    }
    uint64_t entries = layout.size / STORE_FILE;
    entries = entries < STORE_ENTRIES_LEAST ? STORE_ENTRIES_LEAST : entries;
    layout.entries = (uint32_t)(entries < STORE_ENTRIES_MOST ? entries : STORE_ENTRIES_MOST);
    layout.chains = layout.entries;
    layout.blocks = (uint32_t)(layout.size / NEST__STORE_BLOCK);
    size_t chain = store_round(sizeof *layout.store);
    size_t entry = chain + store_round(layout.chains * sizeof *layout.chain);
    size_t extent = entry + store_round((layout.entries + 1) * sizeof *layout.entry);
    size_t data = extent + store_round((layout.blocks + 1) * sizeof *layout.extent);
    layout.bytes = data + store_round((layout.blocks + (size_t)1) * NEST__STORE_BLOCK);
    if (memory != NULL) {
        layout.store = (void *)memory;
        layout.chain = (void *)(memory + chain);
        layout.entry = (void *)(memory + entry);
        layout.extent = (void *)(memory + extent);
        layout.data = memory + data;
    }
    bool many = nest__worker_processes() < nest__config.max_clients;
    layout.pins = many ? STORE_PINS_MANY : STORE_PINS_ONE;
    layout.uses = many ? STORE_USES_MANY : STORE_USES_ONE;
    return layout;
}

struct nest__need nest__contents_common(void) {
    size_t bytes = store_layout(NULL).bytes;
    return (struct nest__need){"contents of files", "fileCache", bytes, bytes};
}

int nest__contents_check(void) {
    char needed[32], there[32];
    uint64_t bytes = store_layout(NULL).bytes, most = nest__memory_most();
    if (bytes <= most) {
        return 0;
    }
    nest__memory_text(bytes, needed);
    nest__memory_text(most, there);
    nest__say(
        "cannot start: fileCache %s needs %s of memory, but this machine or its control group "
        "has %s",
        nest__config.file_cache, needed, there);
    return -ENOMEM;
}

int nest__contents_start(void) {
    struct nest__layout layout = store_layout(NULL);
    if (layout.size == 0) {
        return 0;
    }
    char *memory = mmap(NULL, layout.bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (memory == MAP_FAILED || wake == -1) {
        nest__say("cannot start: fileCache %s: %s", nest__config.file_cache, strerror(errno));
        return -ENOMEM;
    }
    nest__contents = store_layout(memory);
    nest__contents.wake = wake;
    nest__contents.at = nest__report_reserve(
        sizeof(struct nest__user) + (layout.pins + layout.uses) * sizeof(_Atomic uint32_t));
    return 0;
}

/* -- what workers say ----------------------------------------------------------------------------
 */

uint32_t nest__users(void) {
    return atomic_load(&((struct nest__orders *)nest__orders_page)->seen);
}

static uint64_t store_sane(_Atomic uint64_t *count) {
    uint64_t n = atomic_load(count);
    return n < UINT64_C(1) << 61 ? n : 0;
}

/* Its pins hold nothing any more. */
void nest__contents_reaped(uint32_t worker) {
    struct nest__store *store = nest__contents.store;
    struct nest__user *user = store == NULL ? NULL : nest__user(worker);
    if (user != NULL) {
        user->guard = 0;
        atomic_fetch_add(&store->hits, store_sane(&user->hits));
        atomic_fetch_add(&store->hit_bytes, store_sane(&user->hit_bytes));
        atomic_fetch_add(&store->misses, store_sane(&user->misses));
    }
}

struct nest__contents_counts nest__contents_counts(void) {
    struct nest__store *store = nest__contents.store;
    if (store == NULL) {
        return (struct nest__contents_counts){.hits = 0};
    }
    struct nest__contents_counts counts = {.hits = atomic_load(&store->hits),
                                           .hit_bytes = atomic_load(&store->hit_bytes),
                                           .misses = atomic_load(&store->misses),
                                           .loads = atomic_load(&store->loads),
                                           .evictions = atomic_load(&store->evictions),
                                           .bytes = atomic_load(&store->bytes),
                                           .files = atomic_load(&store->files)};
    for (uint32_t worker = 0; worker < nest__users(); worker++) {
        struct nest__user *user = nest__user(worker);
        if (user != NULL) {
            counts.hits += store_sane(&user->hits);
            counts.hit_bytes += store_sane(&user->hit_bytes);
            counts.misses += store_sane(&user->misses);
        }
    }
    return counts;
}
