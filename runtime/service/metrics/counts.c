/* counts.c: counts what a worker does.
 *
 * Called at join points. State: a record of each session; where this worker counts. Every thread
 * has counts of its own, so that a count is an addition without a lock. Must not know who reads
 * them. */
#include "../../platform/platform.h"
#include "../processors/processors.h"
#include "counts.h"

enum { COUNTS_NO_RULE = UINT16_MAX };

struct counts_session {
    uint64_t opened;  /* ns */
    uint64_t since;   /* when the running action's message was complete, ns */
    uint64_t replied; /* by the running action, bytes: it may run on a helper thread */
    uint32_t replies; /* the same, items */
    uint16_t rule;    /* of the running action; COUNTS_NO_RULE: START or END */
};
_Static_assert(NEST__RULES + NEST__TIMERS < COUNTS_NO_RULE, "rules have 16 bits");

static _Atomic(void *) counts_slab;             /* scope: process; a counts_session for each slot */
static struct nest__metrics_worker *counts_own; /* scope: process */

unsigned nest__metrics_bucket(uint64_t ns) {
    uint64_t units = ns >> NEST__METRICS_UNIT_BITS;
    if (units < NEST__METRICS_PARTS) {
        return (unsigned)units;
    }
    unsigned power = 63 - (unsigned)__builtin_clzll(units) - NEST__METRICS_PART_BITS;
    unsigned part = (unsigned)(units >> power) & (NEST__METRICS_PARTS - 1);
    unsigned bucket = (power + 1) * NEST__METRICS_PARTS + part;
    return bucket < NEST__METRICS_BUCKETS ? bucket : NEST__METRICS_BUCKETS - 1;
}

uint64_t nest__metrics_edge(unsigned bucket) {
    unsigned power = (bucket + 1) / NEST__METRICS_PARTS, part = (bucket + 1) % NEST__METRICS_PARTS;
    uint64_t units = power == 0 ? part : (uint64_t)(NEST__METRICS_PARTS + part) << (power - 1);
    return units << NEST__METRICS_UNIT_BITS;
}

static void counts_time(struct nest__metrics_times *times, uint64_t ns) {
    nest__metrics_add(&times->sum, ns);
    nest__metrics_add(&times->buckets[nest__metrics_bucket(ns)], 1);
}

size_t nest__metrics_worker_size(void) {
    return sizeof(struct nest__metrics_worker) +
           nest__writers() * sizeof(struct nest__metrics_counts);
}

void nest__metrics_count_into(struct nest__metrics_worker *own) {
    counts_own = own;
    own->guard = NEST__METRICS_GUARD;
}

struct nest__metrics_worker *nest__metrics_own(void) {
    return counts_own;
}

void nest__metrics_thread(struct nest__metrics_worker *own, uint32_t thread) {
    uint32_t most = atomic_load(&own->most);
    while (most <= thread && !atomic_compare_exchange_weak(&own->most, &most, thread + 1)) {
    }
}

static struct nest__metrics_counts *counts_counts(const nest_session *s) {
    return &counts_own->threads[nest__writer(s)];
}

/* NULL: no memory for the slab, and the session is not counted. */
static struct counts_session *counts_session(const nest_session *s) {
    struct counts_session *slab = nest__slab(&counts_slab, sizeof *slab);
    return slab == NULL ? NULL : &slab[s->self.slot];
}

void nest__metrics_open(nest_session *s) {
    struct counts_session *session = counts_session(s);
    nest__metrics_thread(counts_own, nest__writer(s));
    nest__metrics_add(&counts_counts(s)->opened, 1);
    if (session != NULL) {
        *session = (struct counts_session){.opened = nest__clock_ns(), .rule = COUNTS_NO_RULE};
    }
}

static void counts_begin(const nest_session *s, uint32_t rule, uint32_t n) {
    struct counts_session *session = counts_session(s);
    struct nest__metrics_counts *counts = counts_counts(s);
    nest__metrics_add(&counts->received, n);
    nest__metrics_add(&counts->rules[rule].messages, 1);
    nest__metrics_add(&counts->rules[rule].bytes, n);
    if (session != NULL) {
        session->since = nest__clock_ns();
        session->rule = (uint16_t)rule;
    }
}

void nest__metrics_take(nest_session *s, const struct nest__rule *rule, const uint8_t *bytes,
                        uint32_t n) {
    (void)bytes;
    counts_begin(s, (uint32_t)(rule - nest__rules), n);
}

void nest__metrics_timer(nest_session *s, const struct nest__timer *timer) {
    counts_begin(s, NEST__RULES + (uint32_t)(timer - nest__timers), 0);
}

void nest__metrics_replied(nest_session *s, size_t items, uint64_t n) {
    struct counts_session *session = counts_session(s);
    if (session != NULL) {
        session->replied += n;
        session->replies += (uint32_t)items;
    }
}

void nest__metrics_file(nest_session *s, int fd, uint64_t at, uint64_t n) {
    (void)fd, (void)at;
    nest__metrics_replied(s, 1, n);
}

void nest__metrics_wait(nest_session *s) {
    if (NEST__PROCESSORS) { /* it may be the first count of this thread */
        nest__metrics_thread(counts_own, nest__writer(s));
    }
    nest__metrics_add(&counts_counts(s)->waits, 1);
}

void nest__metrics_resume(nest_session *s) {
    if (NEST__PROCESSORS) {
        nest__metrics_thread(counts_own, nest__writer(s));
    }
    nest__metrics_add(&counts_counts(s)->resumed, 1);
}

void nest__metrics_acted(nest_session *s, uint64_t taken) {
    struct counts_session *session = counts_session(s);
    struct nest__metrics_counts *counts = counts_counts(s);
    nest__metrics_add(&counts->received, taken);
    if (session == NULL) {
        return;
    }
    nest__metrics_add(&counts->replied, session->replied);
    nest__metrics_add(&counts->replies, session->replies);
    session->replied = session->replies = 0;
    if (session->rule != COUNTS_NO_RULE) {
        uint64_t ns = nest__clock_ns() - session->since;
        counts_time(&counts->messages, ns);
        nest__metrics_add(&counts->rules[session->rule].ns, ns);
        nest__metrics_add(&counts->rules[session->rule].bytes, taken);
        session->rule = COUNTS_NO_RULE;
    }
}

void nest__metrics_end(nest_session *s) {
    const struct counts_session *session = counts_session(s);
    struct nest__metrics_counts *counts = counts_counts(s);
    nest__metrics_add(&counts->ended[s->reason], 1);
    if (session != NULL) {
        counts_time(&counts->connections, nest__clock_ns() - session->opened);
    }
}

/* Where a worker has one client, or a thread for each, every client has counts of its own. */
struct nest__need nest__metrics_need(void) {
    bool own = nest__worker_threads() > 1 || nest__worker_processes() > 1;
    uint64_t size = sizeof(struct counts_session) + (own ? sizeof(struct nest__metrics_counts) : 0);
    return (struct nest__need){"counts, for metrics", NULL, size, size};
}
