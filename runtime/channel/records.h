/* records.h: a record for each channel that has one, found by the number of its descriptor, so that
 * the channels of a server need no room for it.
 *
 * Included by stages.c and encodes.c, each with a table of its own. Scope of a table: process; a
 * thread or loop touches the records of its own connections alone. Must not know what is in them.
 */
#ifndef NEST_CHANNEL_RECORDS_H
#define NEST_CHANNEL_RECORDS_H

#include "../seam.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum {
    RECORDS_LEAST = 1 << 22, /* conversations of a script have higher numbers than descriptors */
    RECORDS_MOST = 1 << 24
};

struct records {
    /* Atomic, because a descriptor that one thread has closed may be the next one of another. */
    _Atomic(void *) *by_fd;
    size_t size;
};

/* Before workers are forked. 0 or -errno. Memory is used where there are connections. */
static inline int records_prepare(struct records *all) {
    struct rlimit files;
    size_t most = RECORDS_LEAST;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max > most) {
        most = files.rlim_max < RECORDS_MOST ? (size_t)files.rlim_max : RECORDS_MOST;
    }
    void *p = mmap(NULL, most * sizeof *all->by_fd, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        return -errno;
    }
    all->by_fd = p;
    all->size = most;
    return 0;
}

static inline bool records_fit(const struct records *all, const struct nest__chan *chan) {
    return chan->fd >= 0 && (size_t)chan->fd < all->size;
}

/* The record of a channel; NULL: it has none. */
static inline void *records_of(const struct records *all, const struct nest__chan *chan) {
    return records_fit(all, chan)
               ? atomic_load_explicit(&all->by_fd[chan->fd], memory_order_acquire)
               : NULL;
}

static inline void records_put(const struct records *all, const struct nest__chan *chan,
                               void *record) {
    atomic_store_explicit(&all->by_fd[chan->fd], record, memory_order_release);
}

/* The size of something in a record, so that what follows it is aligned for every type. */
static inline size_t records_aligned(size_t n) {
    return (n + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
}

#endif
