/* cached.h: service/contents/ as cached.c simulates it: with the clock and the files of disk.c, and
 * with a call before each step that others may see or disturb.
 *
 * Included once. */
#ifndef NEST_SIMULATE_CACHED_H
#define NEST_SIMULATE_CACHED_H

#include "sizes.h"

#include "../../seam.h"

struct nest__service_state { /* of no session */
    char none;
};

#include "../../service/contents/store.h"

#include "../../file/file.h"
#include "../../platform/files.h"
#include "../../platform/platform.h"
#include "../../workers/service_process.h"
#include "disk.h"
#include "simulate.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>

static void cached_in_worker(void);
static void cached_in_service(void);
static uint32_t cached_victim(struct nest__policy *, uint64_t size);
static void cached_enter(struct nest__policy *, uint32_t object, uint64_t key, uint64_t size);
static void cached_leave(struct nest__policy *, uint32_t object, bool evicted);

#include "../../service/contents/option.c"
#include "../../service/contents/policy.c"
#include "../../service/contents/store.c"

nest__policy_value nest__spec_cache; /* no timer watches it here */
nest__policy_value *const nest__contents_value = nest__spec_cache;

/* A worker's side. Before it pins, before it compares the path, and before each piece that it
 * copies, the service process may go on. */
#undef atomic_compare_exchange_strong
#define atomic_compare_exchange_strong(to, old, new)                                               \
    (cached_in_worker(), atomic_compare_exchange_strong_explicit(                                  \
                             to, old, new, memory_order_seq_cst, memory_order_seq_cst))
#define strcmp(a, b) (cached_in_worker(), (strcmp)(a, b))
#define memcpy(to, from, n) (cached_in_worker(), (memcpy)(to, from, n))
#define mprotect(memory, n, what) ((void)(memory), 0) /* the service process is this one */
#define time(to) disk_time().tv_sec
#include "../../service/contents/contents.c"
#undef atomic_compare_exchange_strong
#undef strcmp
#undef memcpy
#undef mprotect
#undef time

/* The service process. Before each change of the store the workers may go on. */
#undef atomic_store
#undef atomic_fetch_add
#undef atomic_fetch_sub
#define atomic_store(to, value)                                                                    \
    (cached_in_service(), atomic_store_explicit(to, value, memory_order_seq_cst))
#define atomic_fetch_add(to, by)                                                                   \
    (cached_in_service(), atomic_fetch_add_explicit(to, by, memory_order_seq_cst))
#define atomic_fetch_sub(to, by)                                                                   \
    (cached_in_service(), atomic_fetch_sub_explicit(to, by, memory_order_seq_cst))
#define clock_gettime(clock, to) (*(to) = disk_time(), 0)
#define fstat(fd, to) disk_fstat(fd, to)
#define pread(fd, to, n, at) disk_pread(fd, to, n, at)
#define close(fd) disk_close(fd)
#define nest__policy_victim cached_victim
#define nest__policy_enter cached_enter
#define nest__policy_leave cached_leave
#include "../../service/contents/fill.c"
#undef clock_gettime
#undef fstat
#undef pread
#undef close
#undef nest__policy_victim
#undef nest__policy_enter
#undef nest__policy_leave

#endif
