/* fill.c: the task of the service process that puts contents of files into the store, looks whether
 * they are still those of the files, and takes them out.
 *
 * Nobody else writes to the store. State: what it knows of each entry and block; all of it can be
 * found again from the store and the workers' pins, because this process may be killed at any
 * moment. Must not know who asks for files. */
#include "../../file/file.h"
#include "../../platform/files.h"
#include "../../platform/platform.h"
#include "../../workers/service_process.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    FILL_TURN_MS = 50,  /* between two looks at what workers have used, while they use anything */
    FILL_LOOK_MS = 400, /* between two looks at each file that is used */
    FILL_FRESH = 2      /* s that a file must rest before it is cached */
};

struct fill_file {
    struct timespec changed;
    dev_t device;
    uid_t owner;
    gid_t group;
    uint32_t blocks;
    bool used;  /* since the last look */
    bool limbo; /* found no more, but its contents may be pinned */
};

/* scope: process */
static struct {
    struct nest__policy *policy;
    struct fill_file *files; /* [1 to entries] */
    bool *taken;             /* [1 to blocks] */
    bool *pinned;            /* [1 to entries]; of the last look at the pins */
    uint32_t *limbo;         /* [limbo_n] */
    uint64_t *used, *wanted; /* of each worker: how many notes have been read */
    uint32_t limbo_n, room;  /* `room`: free blocks */
    uint32_t block;          /* where the search for a free one begins */
    uint32_t *spares;        /* [spares_n]: free entries */
    uint32_t spares_n;
    uint64_t looked, active; /* ms; when files were looked at, when one was used */
} fill;

/* -- entries and blocks --------------------------------------------------------------------------
 */

static struct nest__entry *fill_entry(uint32_t number) {
    return &nest__contents.entry[number];
}

static void fill_unchain(uint32_t number) {
    struct nest__entry *entry = fill_entry(number);
    _Atomic uint32_t *link =
        &nest__contents.chain[atomic_load(&entry->hash) % nest__contents.chains];
    while (atomic_load(link) != number) {
        link = &fill_entry(atomic_load(link))->next;
    }
    atomic_store(link, atomic_load(&entry->next));
}

static void fill_extents(uint32_t number, bool taken) {
    for (uint32_t block = fill_entry(number)->block; block != NEST__STORE_NONE;
         block = nest__contents.extent[block].next) {
        uint32_t blocks = nest__contents.extent[block].blocks;
        memset(&fill.taken[block], taken, blocks);
        fill.block = block - 1; /* if it becomes free, it is found at once */
        fill.room = taken ? fill.room - blocks : fill.room + blocks;
    }
}

static void fill_count(void) {
    struct nest__store *store = nest__contents.store;
    atomic_store(&store->bytes, (uint64_t)(nest__contents.blocks - fill.room) * NEST__STORE_BLOCK);
}

/* Nobody finds it from now on. */
static void fill_retire(uint32_t number, bool evicted) {
    fill_unchain(number);
    atomic_fetch_add(&fill_entry(number)->version, 1);
    nest__policy_leave(fill.policy, number - 1, evicted);
    fill.files[number].limbo = true;
    fill.limbo[fill.limbo_n++] = number;
    atomic_fetch_sub(&nest__contents.store->files, 1);
    atomic_fetch_add(&nest__contents.store->evictions, evicted);
}

static void fill_pins(void) {
    memset(fill.pinned, 0, nest__contents.entries + (size_t)1);
    for (uint32_t worker = 0; worker < nest__users(); worker++) {
        struct nest__user *user = nest__user(worker);
        for (uint32_t i = 0; user != NULL && i < nest__contents.pins; i++) {
            uint32_t number = atomic_load(&user->words[i]);
            if (number <= nest__contents.entries) {
                fill.pinned[number] = true;
            }
        }
    }
}

/* Frees what nobody uses any more. */
static void fill_collect(void) {
    uint32_t left = 0;
    if (fill.limbo_n == 0) {
        return;
    }
    fill_pins();
    for (uint32_t i = 0; i < fill.limbo_n; i++) {
        uint32_t number = fill.limbo[i];
        if (fill.pinned[number]) {
            fill.limbo[left++] = number;
        } else {
            fill_extents(number, false);
            fill.files[number].limbo = false;
            atomic_store(&fill_entry(number)->version, 0);
            fill.spares[fill.spares_n++] = number;
        }
    }
    fill.limbo_n = left;
    fill_count();
}

/* How many blocks a file of this size takes. */
static uint32_t fill_blocks(uint64_t size) {
    return size == 0 ? 1 : (uint32_t)((size + NEST__STORE_BLOCK - 1) / NEST__STORE_BLOCK);
}

/* Whether so many blocks would be free if everything left that is not pinned: otherwise a file that
 * cannot come in would empty the store each time that somebody asks for it. */
static bool fill_fits(uint32_t blocks) {
    uint64_t held = 0;
    const bool *end = fill.pinned + nest__contents.entries + 1, *at = fill.pinned + 1;
    fill_pins();
    while ((at = memchr(at, true, (size_t)(end - at))) != NULL) { /* few of many are pinned */
        const struct nest__entry *entry = fill_entry((uint32_t)(at++ - fill.pinned));
        if (atomic_load(&entry->version) != 0) {
            held += fill_blocks(entry->size);
        }
    }
    return held + blocks <= nest__contents.blocks;
}

/* Makes room. Returns an entry; NEST__STORE_NONE: what was taken out is still pinned. */
static uint32_t fill_room(uint32_t blocks) {
    uint64_t size = (uint64_t)blocks * NEST__STORE_BLOCK;
    if (fill.room < blocks && !fill_fits(blocks)) {
        return NEST__STORE_NONE;
    }
    for (;;) {
        if (fill.room >= blocks && fill.spares_n > 0) {
            return fill.spares[--fill.spares_n];
        }
        uint32_t room = fill.room, victims = 0;
        do { /* one at least: there may be no free entry */
            uint32_t victim = nest__policy_victim(fill.policy, size) + 1;
            if (victim > nest__contents.entries) {
                break;
            }
            room += fill.files[victim].blocks;
            fill_retire(victim, true);
            victims++;
        } while (room < blocks);
        if (victims == 0) {
            return NEST__STORE_NONE;
        }
        fill_collect();
    }
}

/* The next free block; there is one. */
static uint32_t fill_free(void) {
    const bool *first = fill.taken + 1, *end = first + nest__contents.blocks;
    const bool *at = first + fill.block % nest__contents.blocks;
    const bool *found = memchr(at, false, (size_t)(end - at));
    found = found == NULL ? memchr(first, false, (size_t)(at - first)) : found;
    fill.block = (uint32_t)(found - first) + 1;
    return fill.block;
}

/* Takes free blocks, of which there are enough. */
static uint32_t fill_take(uint32_t blocks) {
    uint32_t first = NEST__STORE_NONE, last = NEST__STORE_NONE;
    fill.room -= blocks;
    for (uint32_t end = 0; blocks > 0; blocks--) {
        uint32_t block = fill_free();
        fill.taken[block] = true;
        if (last != NEST__STORE_NONE && block == end) {
            nest__contents.extent[last].blocks++;
        } else {
            nest__contents.extent[block] = (struct nest__extent){1, NEST__STORE_NONE};
            if (last == NEST__STORE_NONE) {
                first = block;
            } else {
                nest__contents.extent[last].next = block;
            }
            last = block;
        }
        end = block + 1;
    }
    return first;
}

/* -- files ---------------------------------------------------------------------------------------
 */

static bool fill_rests(const struct stat *about) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return about->st_mtim.tv_sec + FILL_FRESH < now.tv_sec &&
           about->st_ctim.tv_sec + FILL_FRESH < now.tv_sec;
}

static bool fill_same(uint32_t number, const struct stat *about) {
    const struct fill_file *file = &fill.files[number];
    const struct nest__entry *entry = fill_entry(number);
    return entry->inode == about->st_ino && file->device == about->st_dev &&
           entry->size == (uint64_t)about->st_size && entry->mode == about->st_mode &&
           file->owner == about->st_uid && file->group == about->st_gid &&
           file->changed.tv_sec == about->st_ctim.tv_sec &&
           file->changed.tv_nsec == about->st_ctim.tv_nsec &&
           entry->modified.tv_sec == about->st_mtim.tv_sec &&
           entry->modified.tv_nsec == about->st_mtim.tv_nsec;
}

/* Looks whether the path still leads to that file. */
static void fill_look(uint32_t number) {
    struct stat about;
    struct nest__entry *entry = fill_entry(number);
    uint64_t now = nest__clock_ms();
    int fd = nest__file_find(entry->path, O_PATH, false);
    bool same = fd >= 0 && fstat(fd, &about) == 0 && fill_same(number, &about);
    if (fd >= 0) {
        close(fd);
    }
    fill.files[number].used = false;
    if (same) {
        atomic_store(&entry->until, now + NEST__STORE_LIFE);
    } else {
        fill_retire(number, false);
    }
}

/* False: the file has become shorter, or cannot be read. */
static bool fill_read(int fd, const struct nest__entry *entry) {
    uint64_t at = 0;
    for (uint32_t block = entry->block; at < entry->size;
         block = nest__contents.extent[block].next) {
        char *to = nest__contents.data + (uint64_t)block * NEST__STORE_BLOCK;
        uint64_t end = at + (uint64_t)nest__contents.extent[block].blocks * NEST__STORE_BLOCK;
        end = end < entry->size ? end : entry->size;
        while (at < end) {
            ssize_t n = pread(fd, to, end - at, (off_t)at);
            if (n <= 0 && !(n == -1 && errno == EINTR)) {
                return false;
            }
            to += n > 0 ? n : 0;
            at += n > 0 ? (uint64_t)n : 0;
        }
    }
    return true;
}

static void fill_publish(uint32_t number, uint32_t hash, uint64_t now) {
    struct nest__store *store = nest__contents.store;
    struct nest__entry *entry = fill_entry(number);
    _Atomic uint32_t *chain = &nest__contents.chain[hash % nest__contents.chains];
    uint64_t version = atomic_load(&store->version) + 2;
    atomic_store(&store->version, version);
    atomic_store(&entry->hash, hash);
    atomic_store(&entry->until, now + NEST__STORE_LIFE);
    atomic_store(&entry->version, version - 1); /* odd */
    atomic_store(&entry->next, atomic_load(chain));
    atomic_store(chain, number);
    atomic_fetch_add(&store->files, 1);
    atomic_fetch_add(&store->loads, 1);
}

/* The contents are of one version of the file: nobody has changed it for seconds before they were
 * read, and its time of change is the same behind that. */
static void fill_load_open(int fd, const char *path, uint64_t now) {
    struct stat about, after;
    if (fstat(fd, &about) == -1 || !S_ISREG(about.st_mode) || !fill_rests(&about) ||
        !nest__is_local(fd)) {
        return;
    }
    uint64_t most = (uint64_t)about.st_size / NEST__STORE_BLOCK + 1;
    if (most > nest__contents.blocks) {
        return;
    }
    uint32_t blocks = fill_blocks((uint64_t)about.st_size);
    if (!nest__policy_takes(fill.policy, (uint64_t)about.st_size)) {
        return;
    }
    uint32_t hash = nest__store_hash(path), number = fill_room(blocks);
    if (number == NEST__STORE_NONE) {
        return;
    }
    struct nest__entry *entry = fill_entry(number);
    struct fill_file *file = &fill.files[number];
    *file = (struct fill_file){.changed = about.st_ctim,
                               .device = about.st_dev,
                               .owner = about.st_uid,
                               .group = about.st_gid,
                               .blocks = blocks,
                               .used = true};
    entry->mode = about.st_mode;
    entry->size = (uint64_t)about.st_size;
    entry->inode = about.st_ino;
    entry->modified = about.st_mtim;
    entry->block = fill_take(blocks);
    memcpy(entry->path, path, strlen(path) + 1);
    if (!fill_read(fd, entry) || fstat(fd, &after) == -1 || !fill_same(number, &after)) {
        fill_extents(number, false);
        fill.spares[fill.spares_n++] = number;
        return;
    }
    nest__policy_enter(fill.policy, number - 1, hash * UINT64_C(0x9e3779b97f4a7c15),
                       (uint64_t)blocks * NEST__STORE_BLOCK);
    fill_publish(number, hash, now);
    fill_count();
}

static uint32_t fill_find(const char *path) {
    uint32_t hash = nest__store_hash(path);
    uint32_t number = atomic_load(&nest__contents.chain[hash % nest__contents.chains]);
    while (number != NEST__STORE_NONE && (atomic_load(&fill_entry(number)->hash) != hash ||
                                          strcmp(fill_entry(number)->path, path) != 0)) {
        number = atomic_load(&fill_entry(number)->next);
    }
    return number;
}

/* A worker has opened this file. */
static void fill_want(const char *path) {
    uint64_t now = nest__clock_ms();
    uint32_t number = fill_find(path);
    if (number != NEST__STORE_NONE) { /* old, or another worker was as fast */
        if (now >= atomic_load(&fill_entry(number)->until)) {
            fill_look(number);
        }
        if (!fill.files[number].limbo) {
            fill.files[number].used = true;
            nest__policy_hit(fill.policy, number - 1);
            return;
        }
    }
    int fd = nest__file_find(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, false);
    if (fd >= 0) {
        fill_load_open(fd, path, now);
        close(fd);
    }
}

/* -- what workers say ----------------------------------------------------------------------------
 */

static void fill_worker_wants(uint32_t worker, struct nest__user *user) {
    char path[NEST__STORE_PATH];
    uint64_t wanted = atomic_load(&user->wanted), at = fill.wanted[worker];
    if (at > wanted || wanted - at > NEST__WANTED) { /* a new worker, or one that was faster */
        at = wanted < NEST__WANTED ? 0 : wanted - NEST__WANTED;
    }
    fill.wanted[worker] = wanted;
    if (at < wanted) {
        fill.active = nest__clock_ms();
    }
    for (; at < wanted; at++) {
        memcpy(path, user->paths[at % NEST__WANTED], sizeof path);
        path[sizeof path - 1] = '\0';
        if (path[0] != '\0') {
            fill_want(path);
        }
    }
}

static void fill_worker_uses(uint32_t worker, struct nest__user *user) {
    uint64_t used = atomic_load(&user->used), at = fill.used[worker];
    if (at > used || used - at > nest__contents.uses) {
        at = used < nest__contents.uses ? 0 : used - nest__contents.uses;
    }
    fill.used[worker] = used;
    if (at < used) {
        fill.active = nest__clock_ms();
    }
    for (; at < used; at++) {
        uint32_t number = atomic_load(&user->words[nest__contents.pins + at % nest__contents.uses]);
        if (number >= 1 && number <= nest__contents.entries &&
            atomic_load(&fill_entry(number)->version) % 2 == 1) {
            fill.files[number].used = true;
            nest__policy_hit(fill.policy, number - 1);
        }
    }
}

static bool fill_wanted(void) {
    for (uint32_t worker = 0; worker < nest__users(); worker++) {
        struct nest__user *user = nest__user(worker);
        if (user != NULL && atomic_load(&user->wanted) != fill.wanted[worker]) {
            return true;
        }
    }
    return false;
}

/* -- the task ------------------------------------------------------------------------------------
 */

/* What another process has left, whose place this one has taken: nothing is found, and what is
 * pinned stays. */
static void fill_recover(void) {
    for (uint32_t i = 0; i < nest__contents.chains; i++) {
        atomic_store(&nest__contents.chain[i], NEST__STORE_NONE);
    }
    for (uint32_t number = 1; number <= nest__contents.entries; number++) {
        struct nest__entry *entry = fill_entry(number);
        if (atomic_load(&entry->version) % 2 == 1) {
            atomic_fetch_add(&entry->version, 1);
        }
    }
    fill_pins();
    for (uint32_t number = 1; number <= nest__contents.entries; number++) {
        struct nest__entry *entry = fill_entry(number);
        if (atomic_load(&entry->version) != 0 && fill.pinned[number]) {
            fill_extents(number, true);
            fill.files[number].limbo = true;
            fill.limbo[fill.limbo_n++] = number;
        } else {
            atomic_store(&entry->version, 0);
            fill.spares[fill.spares_n++] = number;
        }
    }
    atomic_store(&nest__contents.store->files, 0);
    fill_count();
}

static int fill_begin(void) {
    const struct nest__layout *c = &nest__contents;
    uint32_t workers = nest__config.max_clients + NEST__DISPATCHERS_MOST;
    if (c->store == NULL) {
        return 0;
    }
    fill.policy = nest__policy_make(c->policy, (uint64_t)c->blocks * NEST__STORE_BLOCK,
                                    c->threshold, c->entries, nest__contents_value);
    fill.files = calloc(c->entries + (size_t)1, sizeof *fill.files);
    fill.taken = calloc(c->blocks + (size_t)1, sizeof *fill.taken);
    fill.pinned = calloc(c->entries + (size_t)1, sizeof *fill.pinned);
    fill.limbo = calloc(c->entries + (size_t)1, sizeof *fill.limbo);
    fill.spares = calloc(c->entries + (size_t)1, sizeof *fill.spares);
    fill.used = calloc(workers, sizeof *fill.used);
    fill.wanted = calloc(workers, sizeof *fill.wanted);
    if (fill.policy == NULL || fill.files == NULL || fill.taken == NULL || fill.pinned == NULL ||
        fill.limbo == NULL || fill.spares == NULL || fill.used == NULL || fill.wanted == NULL) {
        return -ENOMEM;
    }
    fill.room = c->blocks;
    fill_recover();
    return 0;
}

static unsigned fill_waits(struct pollfd waits[NEST__TASK_WAITS]) {
    if (nest__contents.store == NULL) {
        return 0;
    }
    waits[0] = (struct pollfd){.fd = nest__contents.wake, .events = POLLIN};
    return 1;
}

static int fill_step(const struct pollfd waits[NEST__TASK_WAITS], unsigned n) {
    uint64_t now = nest__clock_ms(), woken;
    struct nest__store *store = nest__contents.store;
    (void)waits, (void)n;
    if (store == NULL) {
        return -1;
    }
    atomic_store(&store->sleeps, 0);
    (void)!read(nest__contents.wake, &woken, sizeof woken);
    for (uint32_t worker = 0; worker < nest__users(); worker++) {
        struct nest__user *user = nest__user(worker);
        if (user != NULL) {
            fill_worker_uses(worker, user);
            fill_worker_wants(worker, user);
        }
    }
    if (now - fill.looked >= FILL_LOOK_MS) {
        fill.looked = now;
        for (uint32_t number = 1; number <= nest__contents.entries; number++) {
            if (fill.files[number].used && atomic_load(&fill_entry(number)->version) % 2 == 1) {
                fill_look(number);
            }
        }
    }
    fill_collect();
    atomic_store(&store->sleeps, 1);
    if (fill_wanted()) {
        return 0;
    }
    return now - fill.active < NEST__STORE_LIFE || fill.limbo_n > 0 ? FILL_TURN_MS : -1;
}

const struct nest__task nest__contents_task = {"fileCache", fill_begin, fill_waits, fill_step,
                                               NULL};
