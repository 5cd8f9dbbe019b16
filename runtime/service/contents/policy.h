/* policy.h: which file leaves a cache when another one needs its room.
 *
 * The service process uses it, and so do `nest cache-sim` and a test, which compile policy.c alone:
 * it needs nothing but libc. Must not know files, nor where their contents are. */
#ifndef NEST_SERVICE_CONTENTS_POLICY_H
#define NEST_SERVICE_CONTENTS_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LRU, LFU, LRU-MIN, LRU-Threshold: Abrams et al., "Caching Proxies: Limitations and Potentials"
 * (1995). Hyper-G: Williams et al., "Removal Policies in Network Caches for World-Wide Web
 * Documents" (1996). SIEVE: Zhang et al. (NSDI 2024). S3-FIFO: Yang et al. (SOSP 2023). */
enum nest__policy_kind {
    NEST__LRU,     /* the one whose last use is the longest ago */
    NEST__LFU,     /* the one with the fewest uses; of these the one that came first */
    NEST__LRU_MIN, /* the LRU one of those as large as the newcomer; if there is none, of those
                      half as large, and so on */
    NEST__LRU_THRESHOLD, /* LRU; files above a size are not cached */
    NEST__HYPER_G,       /* the one with the fewest uses; of these the LRU one */
    NEST__SIEVE,         /* the first, from a hand on, that was not used since the hand passed */
    NEST__S3_FIFO, /* two queues: most files leave the small one before they reach the other */
    NEST__CUSTOM,  /* the one with the least value, as a function says; of these the LRU one */
    NEST__POLICIES
};
extern const char *const nest__policy_names[NEST__POLICIES];

/* The value of an object of `size` bytes that is used for the `uses`th time since it came. `now`
 * counts the uses of all objects. `least` is the value of the one that left last to make room, 0
 * before: what is added to it makes the value of objects fall behind that are not used (the
 * GreedyDual of Cao and Irani, USITS 1997). What is no finite number is less than any number, and
 * does not become `least`. */
typedef double nest__policy_value(uint64_t size, uint64_t uses, uint64_t now, double least);

struct nest__policy;
/* NULL: no memory. Objects have numbers below `most`; together they are at most `capacity` bytes
 * large. `threshold`: the largest that LRU-Threshold takes. `value`: for NEST__CUSTOM. */
struct nest__policy *nest__policy_make(enum nest__policy_kind, uint64_t capacity,
                                       uint64_t threshold, uint32_t most,
                                       nest__policy_value *value);
void nest__policy_free(struct nest__policy *);
/* Whether an object of that size is cached at all. */
bool nest__policy_takes(const struct nest__policy *, uint64_t size);
/* It is cached from now on: this was its first use. `key`: the same whenever it comes again. */
void nest__policy_enter(struct nest__policy *, uint32_t object, uint64_t key, uint64_t size);
void nest__policy_hit(struct nest__policy *, uint32_t object);
/* The one to leave next, so that one of `size` bytes finds room; `most`: none is cached. The caller
 * says nest__policy_leave. */
uint32_t nest__policy_victim(struct nest__policy *, uint64_t size);
/* `evicted`: as a victim; otherwise because it has changed. */
void nest__policy_leave(struct nest__policy *, uint32_t object, bool evicted);

#endif
