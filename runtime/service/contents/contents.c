/* contents.c: a worker's side of option fileCache: finds contents of files in shared memory.
 *
 * Called by file/file.c on any thread of a worker, and at join points. A hit writes two words of
 * this worker's own memory: a pin, without which the contents could make room for others, and a
 * note for the policy. It takes no lock and makes no system call. A miss is told to the service
 * process, and is answered from the file: nobody waits for a cache to be filled. State: this
 * worker's memory behind its report. Must not know sessions, policies, nor how contents get there.
 */
#include "../../platform/platform.h"
#include "store.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    CONTENTS_STEPS = 64, /* along a chain, which may change meanwhile */
    CONTENTS_FRESH = 2   /* s that a file must rest before it is cached */
};

static struct nest__user *contents_own; /* scope: process; NULL: it is no worker */

uint32_t nest__store_hash(const char *path) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *path != '\0'; path++) {
        hash = (hash ^ (uint8_t)*path) * 16777619u;
    }
    return hash ^ hash >> 15;
}

int nest__contents_serve(void) {
    struct nest__user *own = nest__report_own(nest__contents.at);
    char *store = (char *)nest__contents.store;
    if (store == NULL || own == NULL) { /* the service process, or one without a supervisor */
        return 0;
    }
    if (mprotect(store, nest__contents.bytes, PROT_READ) == -1) {
        return -1;
    }
    own->guard = NEST__WORKER_GUARD;
    contents_own = own;
    return 0;
}

/* -- pins ----------------------------------------------------------------------------------------
 */

static _Thread_local uint32_t contents_at; /* scope: thread; where it found a free pin last */

/* Returns the number of the pin; `pins`: all are used. */
static uint32_t contents_pin(uint32_t entry) {
    uint32_t pins = nest__contents.pins;
    for (uint32_t i = 0; i < pins; i++) {
        uint32_t at = (contents_at + i) % pins, none = NEST__STORE_NONE;
        if (atomic_load_explicit(&contents_own->words[at], memory_order_relaxed) == none &&
            atomic_compare_exchange_strong(&contents_own->words[at], &none, entry)) {
            contents_at = at;
            return at;
        }
    }
    return pins;
}

static void contents_unpin(uint32_t pin) {
    atomic_store_explicit(&contents_own->words[pin], NEST__STORE_NONE, memory_order_release);
}

/* For the policy: the service process reads notes in batches, and may miss some. */
static void contents_note(uint32_t entry, uint64_t size) {
    uint64_t at = atomic_fetch_add_explicit(&contents_own->used, 1, memory_order_relaxed);
    _Atomic uint32_t *uses = &contents_own->words[nest__contents.pins];
    atomic_store_explicit(&uses[at % nest__contents.uses], entry, memory_order_release);
    atomic_fetch_add_explicit(&contents_own->hits, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&contents_own->hit_bytes, size, memory_order_relaxed);
}

/* -- files ---------------------------------------------------------------------------------------
 */

/* Pins the entry if it is that path's, and is fresh. Returns the pin; `pins`: it is not. */
static uint32_t contents_try(uint32_t number, const char *path, uint64_t now) {
    struct nest__entry *entry = &nest__contents.entry[number];
    uint64_t version = atomic_load(&entry->version);
    if (version % 2 == 0 || now >= atomic_load(&entry->until)) {
        return nest__contents.pins;
    }
    uint32_t pin = contents_pin(number);
    if (pin == nest__contents.pins) {
        return pin;
    }
    /* The same order as in the service process, which changes the version and then reads pins. */
    if (atomic_load(&entry->version) != version || strcmp(entry->path, path) != 0) {
        contents_unpin(pin);
        return nest__contents.pins;
    }
    return pin;
}

bool nest__contents_open(const char *path, nest_file *file) {
    if (contents_own == NULL || path[0] == '\0') {
        return false;
    }
    path = nest__store_path(path);
    uint64_t now = nest__clock_ms();
    uint32_t hash = nest__store_hash(path), pin = nest__contents.pins;
    uint32_t number = atomic_load(&nest__contents.chain[hash % nest__contents.chains]);
    for (unsigned i = 0; number != NEST__STORE_NONE && i < CONTENTS_STEPS; i++) {
        const struct nest__entry *entry = &nest__contents.entry[number];
        if (atomic_load_explicit(&entry->hash, memory_order_relaxed) == hash) {
            pin = contents_try(number, path, now);
            if (pin < nest__contents.pins) {
                break;
            }
        }
        number = atomic_load(&entry->next);
    }
    if (pin == nest__contents.pins) {
        atomic_fetch_add_explicit(&contents_own->misses, 1, memory_order_relaxed);
        return false;
    }
    const struct nest__entry *entry = &nest__contents.entry[number];
    contents_note(number, entry->size);
    *file = (nest_file){.size = entry->size,
                        .mtime = entry->modified,
                        .inode = entry->inode,
                        .fd = NEST__CONTENTS_FD + (int32_t)pin,
                        .mode = entry->mode};
    return true;
}

/* What the service process would not cache is not told. */
static bool contents_fits(const char *path, const struct stat *about) {
    time_t latest = about->st_mtim.tv_sec > about->st_ctim.tv_sec ? about->st_mtim.tv_sec
                                                                  : about->st_ctim.tv_sec;
    return S_ISREG(about->st_mode) && path[0] != '\0' && strlen(path) < NEST__STORE_PATH &&
           (uint64_t)about->st_size <= nest__contents.size &&
           (nest__contents.policy != NEST__LRU_THRESHOLD ||
            (uint64_t)about->st_size <= nest__contents.threshold) &&
           latest + CONTENTS_FRESH < time(NULL);
}

void nest__contents_want(const char *path, const struct stat *about) {
    path = nest__store_path(path);
    if (contents_own == NULL || !contents_fits(path, about) ||
        atomic_flag_test_and_set(&contents_own->wants)) {
        return;
    }
    uint64_t at = atomic_load(&contents_own->wanted);
    memcpy(contents_own->paths[at % NEST__WANTED], path, strlen(path) + 1);
    atomic_store(&contents_own->wanted, at + 1);
    atomic_flag_clear(&contents_own->wants);
    if (atomic_load(&nest__contents.store->sleeps) != 0) {
        uint64_t one = 1;
        (void)!write(nest__contents.wake, &one, sizeof one);
    }
}

int64_t nest__contents_read(int fd, void *to, size_t n, uint64_t at) {
    uint32_t number = atomic_load(&contents_own->words[fd - NEST__CONTENTS_FD]);
    const struct nest__entry *entry = &nest__contents.entry[number];
    uint64_t left = at < entry->size ? entry->size - at : 0;
    uint32_t block = entry->block;
    size_t done = 0;
    n = left < n ? (size_t)left : n;
    while (done < n) {
        const struct nest__extent *extent = &nest__contents.extent[block];
        uint64_t bytes = (uint64_t)extent->blocks * NEST__STORE_BLOCK;
        if (at >= bytes) {
            at -= bytes;
        } else {
            size_t part = bytes - at < n - done ? (size_t)(bytes - at) : n - done;
            const char *from = nest__contents.data + (uint64_t)block * NEST__STORE_BLOCK + at;
            memcpy((char *)to + done, from, part);
            done += part;
            at = 0;
        }
        block = extent->next;
    }
    return (int64_t)n;
}

void nest__contents_close(int fd) {
    contents_unpin((uint32_t)(fd - NEST__CONTENTS_FD));
}
