/* store.h: the memory in which the service process keeps contents of files, and what workers say.
 *
 * Included by service/contents/ alone. The store is one mapping. The service process alone writes
 * to it; workers map it read-only. What a worker says is behind its report: only that worker can
 * write to it, and its readers check everything.
 *
 * An entry is a file. Its contents are in blocks; adjacent blocks are an extent, whose first block
 * tells its length and the extent that follows. A worker that uses an entry first pins it: it
 * writes its number where the service process looks before it reuses an entry, and then sees
 * whether the entry is still the one it has found. */
#ifndef NEST_SERVICE_CONTENTS_STORE_H
#define NEST_SERVICE_CONTENTS_STORE_H

#include "contents.h"
#include "policy.h"
#include "../../workers/shared.h"

enum {
    NEST__STORE_BLOCK = 1024,
    NEST__STORE_PATH = 160,  /* with the NUL: longer paths are not cached */
    NEST__STORE_LIFE = 1000, /* ms after a look at the file for which its contents are served */
    NEST__STORE_NONE = 0     /* entries and blocks are numbered from 1 */
};

struct nest__entry {
    /* 0: free. Odd: found by its path. Even: its contents are only for those who pinned it. It is
     * never the same again. */
    _Atomic uint64_t version;
    _Atomic uint64_t until; /* ms; served before this time */
    _Atomic uint32_t next;  /* in its chain */
    _Atomic uint32_t hash;
    /* Constant while the entry is pinned or not free: */
    uint32_t mode, block; /* its first extent */
    uint64_t size, inode;
    struct timespec modified;
    char path[NEST__STORE_PATH];
};

struct nest__extent {
    uint32_t blocks, next; /* NEST__STORE_NONE: the last */
};

struct nest__store {
    _Atomic uint32_t sleeps;  /* the service process is to be woken when something is wanted */
    _Atomic uint64_t version; /* given last */
    _Atomic uint64_t misses, hits, hit_bytes; /* of workers that have ended */
    _Atomic uint64_t loads, evictions, bytes, files;
};

/* The function of `custom`: the code of %cache. NULL: the specification has none. */
extern nest__policy_value *const nest__contents_value;

/* What is where; the same in all processes. */
struct nest__layout {
    enum nest__policy_kind policy;
    uint64_t size, threshold; /* of contents, in bytes */
    uint32_t entries, chains, blocks;
    struct nest__store *store;
    _Atomic uint32_t *chain;     /* [chains] */
    struct nest__entry *entry;   /* [1 to entries] */
    struct nest__extent *extent; /* [1 to blocks] */
    char *data;
    size_t bytes;        /* of the whole mapping */
    int wake;            /* an eventfd */
    size_t at;           /* in a report */
    uint32_t pins, uses; /* of a worker; `uses` is a power of two */
};
extern struct nest__layout nest__contents;
/* The policy and the sizes, of which `size` is 0 for none. False: the text is no value. */
bool nest__contents_parse(const char *text, struct nest__layout *);

enum { NEST__WANTED = 16 };
#define NEST__WORKER_GUARD UINT64_C(0x3f19d6b8a2e7c051)
/* A worker, behind its report. */
struct nest__user {
    uint64_t guard;    /* NEST__WORKER_GUARD, once the worker has begun */
    atomic_flag wants; /* a thread is writing what it wants */
    _Atomic uint64_t hits, hit_bytes, misses;
    _Atomic uint64_t used;   /* how many uses were noted, the latest in [used % uses] */
    _Atomic uint64_t wanted; /* the same for `paths` */
    char paths[NEST__WANTED][NEST__STORE_PATH];
    _Atomic uint32_t words[]; /* [pins], then [uses] */
};

/* NULL: there is no such worker, or its memory was written over. */
static inline struct nest__user *nest__user(uint32_t worker) {
    struct nest__user *user =
        (struct nest__user *)((char *)nest__report_page(worker) + nest__contents.at);
    return user->guard == NEST__WORKER_GUARD ? user : NULL;
}
uint32_t nest__users(void); /* workers with numbers below this may exist */
uint32_t nest__store_hash(const char *path);
/* Leading slashes say nothing. */
static inline const char *nest__store_path(const char *path) {
    while (*path == '/') {
        path++;
    }
    return path;
}

#endif
