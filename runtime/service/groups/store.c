/* store.c: a ring of bytes for each worker that blocks, and for the service process.
 *
 * Called by blocking.c. State: the rings, in memory that all processes map; of a thread its ring,
 * and the message that it has read. Only its worker writes a ring, and no reader delays it: a
 * reader copies a message, and then looks whether it was overwritten meanwhile. Messages outlive
 * the connection, and the process, that put them there. Must not know members. */
#include "store.h"
#include "../../workers/supervisor.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STORE_LEAST = 4 * NEST__SEND_MOST };

struct store_ring {
    _Atomic uint64_t begun; /* words before this position are there, or are being written */
    _Atomic uint64_t words[];
};

static struct { /* scope: server */
    char *memory;
    size_t size, each; /* bytes of all; of a ring with its record: whole pages */
    uint32_t slots;
} store;

static _Thread_local uint32_t store_own; /* scope: worker */
/* scope: worker. In words, as bytes are in rings. */
static _Thread_local uint64_t store_read[NEST__SEND_MOST / sizeof(uint64_t)];

static size_t store_pages(size_t n) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (n + page - 1) / page * page;
}

uint64_t nest__groups_store_size(void) {
    uint64_t most = nest__config.output_buffer;
    return store_pages(sizeof(struct store_ring) + (most > STORE_LEAST ? most : STORE_LEAST));
}

int nest__groups_store_prepare(uint32_t slots) {
    store.each = nest__groups_store_size();
    store.slots = slots;
    store.size = slots * store.each;
    void *memory = mmap(NULL, store.size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return -ENOMEM;
    }
    store.memory = memory;
    return 0;
}

static struct store_ring *store_ring(uint32_t slot) {
    return (void *)(store.memory + slot * store.each);
}

/* A worker that is a process can write to its own ring only. Failure leaves the memory writable,
 * which only a faulty action would notice. */
void nest__groups_store_open(uint32_t slot) {
    static bool sealed; /* scope: process */
    store_own = slot;
    if (!nest__policy_many && !sealed) {
        sealed = true;
        (void)mprotect(store.memory, store.size, PROT_READ);
        (void)mprotect(store_ring(slot), store.each, PROT_READ | PROT_WRITE);
    }
}

static uint64_t store_words(void) { /* of a ring */
    return (store.each - sizeof(struct store_ring)) / sizeof(uint64_t);
}

static uint64_t store_up(uint64_t n) { /* words for n bytes */
    return (n + sizeof(uint64_t) - 1) / sizeof(uint64_t);
}

/* Positions count words. */
struct nest__groups_stored nest__groups_store_put(const struct nest__send_text *text) {
    struct store_ring *ring = store_ring(store_own);
    uint64_t at = atomic_load(&ring->begun), n = store_up(text->n);
    atomic_store(&ring->begun, at + n);
    atomic_thread_fence(memory_order_release);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t word = 0, from = i * sizeof word, left = text->n - from;
        memcpy(&word, text->p + from, left < sizeof word ? left : sizeof word);
        atomic_store_explicit(&ring->words[(at + i) % store_words()], word, memory_order_relaxed);
    }
    return (struct nest__groups_stored){.at = at, .slot = store_own, .n = text->n};
}

static bool store_there(struct store_ring *ring, uint64_t at) {
    return atomic_load(&ring->begun) - at <= store_words();
}

const uint8_t *nest__groups_store_get(const struct nest__groups_stored *stored) {
    uint64_t n = store_up(stored->n);
    if (stored->slot >= store.slots || stored->n > sizeof store_read) {
        return NULL;
    }
    struct store_ring *ring = store_ring(stored->slot);
    if (!store_there(ring, stored->at)) {
        return NULL;
    }
    for (uint64_t i = 0; i < n; i++) {
        store_read[i] = atomic_load_explicit(&ring->words[(stored->at + i) % store_words()],
                                             memory_order_relaxed);
    }
    atomic_thread_fence(memory_order_acquire);
    return store_there(ring, stored->at) ? (const uint8_t *)store_read : NULL;
}
