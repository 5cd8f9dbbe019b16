/* cache.c: keeps recently used files open, so that opening one again costs one system call instead
 * of three. It caches descriptors, not contents.
 *
 * Called by file/file.c and at join points, on the loop's thread. Must not know sessions or time:
 * the loop says when files expire.
 *
 * Each request asks the kernel what the path refers to now. The cached descriptor is used only if
 * that is the same file and its permissions are unchanged. The metadata comes from this call, so it
 * is always current. So the next request notices that a file was replaced, removed or moved,
 * or that its permissions were changed, by any program. The call cannot tell whether the same file
 * is now reached by a path through the outside of fileRoot. Therefore no descriptor is used for
 * longer than CACHE_LIFE.
 *
 * Looking up the path of an open file does not wait for a disk, because the kernel keeps the
 * directories of an open file in memory. Files on network or user-space file systems are not
 * cached, because there a lookup could wait. Descriptors are closed by a helper: if one is the last
 * of a removed file, closing it may wait for the disk. */
#include "cache.h"
#include "../../file/file.h"
#include "../../loop/helpers.h"
#include "../../platform/files.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CACHE_MOST = 1024, /* a power of two; when it is full, further files are not cached */
    CACHE_PATH = 112,  /* including the NUL */
    CACHE_LIFE = 1000  /* ms that a file may stay open */
};

struct cache_entry {
    int fd; /* -1: free */
    uint32_t hash, users;
    bool named;                  /* it can be found; otherwise it is closed when `users` is 0 */
    uint16_t next_name, next_fd; /* chains by name and by descriptor; free entries use next_name */
    mode_t mode;
    uid_t owner;
    gid_t group;
    dev_t device;
    ino_t inode;
    struct timespec changed;
    char path[CACHE_PATH];
};

/* scope: process, of its one loop */
static struct {
    struct cache_entry entries[CACHE_MOST];
    uint16_t names[CACHE_MOST],
        fds[CACHE_MOST]; /* number of the first entry of each chain; 0: none */
    uint16_t free;
    uint32_t ever, count, limit;
    uint32_t orphans; /* in use, but not named */
    dev_t device;     /* the device asked about last; `local` is the answer */
    bool asked, local;
    int closing[CACHE_MOST]; /* to be closed by cache_close */
    _Atomic uint32_t closing_n;
    struct nest__job job; /* which closes them */
} cache;

/* Entries are numbered from 1. */
static struct cache_entry *cache_at(unsigned number) {
    return &cache.entries[number - 1];
}

unsigned nest__cache_spare(uint64_t most) {
    cache.limit = most < CACHE_MOST ? (uint32_t)most : CACHE_MOST;
    return cache.limit;
}

/* Files that are found must expire, when those that have expired before are closed. */
unsigned nest__cache_due(void) {
    return cache.count > cache.orphans && cache.job.work == NULL ? CACHE_LIFE : 0;
}

static uint32_t cache_hash(const char *path) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *path != '\0'; path++) {
        hash = (hash ^ (uint8_t)*path) * 16777619u;
    }
    return hash ^ hash >> 15;
}

static uint16_t *cache_of_name(uint32_t hash) {
    return &cache.names[hash % CACHE_MOST];
}

static uint16_t *cache_of_fd(int fd) {
    return &cache.fds[(unsigned)fd % CACHE_MOST];
}

/* Removes an entry from its name chain, so that it cannot be found. */
static void cache_forget(struct cache_entry *entry) {
    uint16_t *link = cache_of_name(entry->hash);
    while (cache_at(*link) != entry) {
        link = &cache_at(*link)->next_name;
    }
    *link = entry->next_name;
    entry->named = false;
    cache.orphans += entry->users > 0;
}

/* Compares permissions too, because an open descriptor is not checked again. */
static bool cache_same(const struct cache_entry *entry, const struct stat *now) {
    return entry->inode == now->st_ino && entry->device == now->st_dev &&
           entry->changed.tv_nsec == now->st_ctim.tv_nsec &&
           entry->changed.tv_sec == now->st_ctim.tv_sec && entry->mode == now->st_mode &&
           entry->owner == now->st_uid && entry->group == now->st_gid;
}

int nest__cache_find(const char *path, struct stat *now) {
    uint32_t hash = cache_hash(path);
    unsigned number = *cache_of_name(hash);
    while (number != 0 &&
           (cache_at(number)->hash != hash || strcmp(cache_at(number)->path, path) != 0)) {
        number = cache_at(number)->next_name;
    }
    if (number == 0) {
        return -1;
    }
    struct cache_entry *entry = cache_at(number);
    if (nest__file_look(path, now) < 0 || !cache_same(entry, now)) {
        cache_forget(entry);
        return -1;
    }
    entry->users++;
    return entry->fd;
}

static bool cache_local(int fd, dev_t device) {
    if (!cache.asked || cache.device != device) {
        cache.local = nest__is_local(fd);
        cache.device = device;
        cache.asked = true;
    }
    return cache.local;
}

void nest__cache_add(const char *path, int fd, const struct stat *about) {
    size_t n = strlen(path) + 1;
    if (cache.count + atomic_load(&cache.closing_n) >= cache.limit || n > CACHE_PATH ||
        !cache_local(fd, about->st_dev)) {
        return;
    }
    uint16_t number = cache.free;
    if (number != 0) {
        cache.free = cache_at(number)->next_name;
    } else {
        number = (uint16_t)++cache.ever;
    }
    struct cache_entry *entry = cache_at(number);
    uint32_t hash = cache_hash(path);
    *entry = (struct cache_entry){.fd = fd,
                                  .hash = hash,
                                  .users = 1,
                                  .named = true,
                                  .next_name = *cache_of_name(hash),
                                  .next_fd = *cache_of_fd(fd),
                                  .mode = about->st_mode,
                                  .owner = about->st_uid,
                                  .group = about->st_gid,
                                  .device = about->st_dev,
                                  .inode = about->st_ino,
                                  .changed = about->st_ctim};
    memcpy(entry->path, path, n);
    *cache_of_name(hash) = number;
    *cache_of_fd(fd) = number;
    cache.count++;
}

bool nest__cache_leave(int fd) {
    unsigned number = *cache_of_fd(fd);
    while (number != 0 && cache_at(number)->fd != fd) {
        number = cache_at(number)->next_fd;
    }
    if (number == 0) {
        return false;
    }
    struct cache_entry *entry = cache_at(number);
    entry->users--;
    cache.orphans -= entry->users == 0 && !entry->named;
    return true;
}

/* Frees an entry; the caller now owns its descriptor. */
static void cache_free(uint16_t number) {
    struct cache_entry *entry = cache_at(number);
    uint16_t *link = cache_of_fd(entry->fd);
    while (*link != number) {
        link = &cache_at(*link)->next_fd;
    }
    *link = entry->next_fd;
    entry->fd = -1;
    entry->next_name = cache.free;
    cache.free = number;
    cache.count--;
}

/* No later action finds the files that are kept now. How many are to be closed. */
static uint32_t cache_expire(void) {
    uint32_t n = 0;
    for (uint16_t number = 1; number <= cache.ever; number++) {
        struct cache_entry *entry = cache_at(number);
        if (entry->fd == -1) {
            continue;
        }
        if (entry->named) {
            cache_forget(entry);
        }
        if (entry->users == 0) {
            cache.closing[n++] = entry->fd;
            cache_free(number);
        }
    }
    atomic_store(&cache.closing_n, n);
    return n;
}

/* Work that may block. */
static int cache_close(void *unused) {
    (void)unused;
    uint32_t n = atomic_load(&cache.closing_n);
    for (uint32_t i = 0; i < n; i++) {
        close(cache.closing[i]);
    }
    atomic_store(&cache.closing_n, 0);
    return 0;
}

void nest__cache_tick(void) {
    if (cache.job.work != NULL || cache_expire() == 0) {
        return;
    }
    cache.job.work = cache_close;
    if (nest__help(&cache.job) < 0) {
        cache.job.work = NULL;
        (void)cache_close(NULL);
    }
}
