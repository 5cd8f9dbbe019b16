/* counts.h: what is counted, and how the files of this service share it.
 *
 * Included by service/metrics/ alone. */
#ifndef NEST_SERVICE_METRICS_COUNTS_H
#define NEST_SERVICE_METRICS_COUNTS_H

#include "metrics.h"

/* Times in ns, in buckets whose width is an eighth of their power of two, as in Tene's HDR
 * histogram: a quantile is at most 12.5 % too high, below 512 ns at most 64 ns. Two histograms are
 * merged by addition. */
enum {
    NEST__METRICS_UNIT_BITS = 6, /* the first eight buckets are 64 ns wide */
    NEST__METRICS_PART_BITS = 3,
    NEST__METRICS_PARTS = 1 << NEST__METRICS_PART_BITS,
    NEST__METRICS_BUCKETS =
        31 * NEST__METRICS_PARTS /* to 550 s; the last one takes what is longer */
};
struct nest__metrics_times {
    _Atomic uint64_t sum; /* ns */
    _Atomic uint64_t buckets[NEST__METRICS_BUCKETS];
};
struct nest__metrics_rule {
    _Atomic uint64_t messages, bytes, ns;
};
/* Ends of handshakes. */
enum nest__metrics_shake {
    NEST__METRICS_FULL,
    NEST__METRICS_RESUMED,
    NEST__METRICS_FAILED,
    NEST__METRICS_SHAKES
};
/* All members are _Atomic uint64_t: counts are added as an array. Each has one writer, except for
 * those of handshakes, which all threads of a worker count in the first one's. */
struct nest__metrics_counts {
    _Atomic uint64_t opened;
    _Atomic uint64_t ended[NEST_REASONS]; /* [NEST_OPEN]: lost with their worker */
    _Atomic uint64_t received; /* bytes of messages, and of what their actions read behind them */
    _Atomic uint64_t replied;  /* bytes */
    _Atomic uint64_t replies, waits, resumed;
    _Atomic uint64_t shakes[NEST__METRICS_SHAKES];
    struct nest__metrics_times messages, connections;
    struct nest__metrics_rule rules[NEST__RULES + NEST__TIMERS];
};
enum { NEST__METRICS_COUNTS = sizeof(struct nest__metrics_counts) / sizeof(uint64_t) };

/* Only the count's writer may call it: then no lock is needed. */
static inline void nest__metrics_add(_Atomic uint64_t *count, uint64_t n) {
    uint64_t before = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, before + n, memory_order_relaxed);
}

static inline uint64_t nest__metrics_ended(const struct nest__metrics_counts *counts) {
    uint64_t ended = 0;
    for (int reason = 0; reason < NEST_REASONS; reason++) {
        ended += atomic_load_explicit(&counts->ended[reason], memory_order_relaxed);
    }
    return ended;
}

/* Of a worker, behind its report. */
struct nest__metrics_worker {
    uint64_t guard; /* NEST__METRICS_GUARD: a worker has begun, and nothing has written over it */
    _Atomic uint32_t most;         /* threads beyond this number have counted nothing */
    _Atomic uint32_t helper_queue; /* jobs of a loop that wait for a helper thread */
    struct nest__metrics_counts threads[];
};
#define NEST__METRICS_GUARD UINT64_C(0x51b7c9e38d02f46a)

/* -- counts.c */
/* In which bucket a time of `ns` is. */
unsigned nest__metrics_bucket(uint64_t ns);
/* The least time, in ns, that is in none of the buckets 0 to `bucket`. */
uint64_t nest__metrics_edge(unsigned bucket);
/* In a worker: counts from now on into this memory, which is zero. */
void nest__metrics_count_into(struct nest__metrics_worker *);
size_t nest__metrics_worker_size(void);               /* bytes, for all threads of a worker */
struct nest__metrics_worker *nest__metrics_own(void); /* where this worker counts */
/* A thread of the worker counts from now on. */
void nest__metrics_thread(struct nest__metrics_worker *, uint32_t thread);

/* -- sums.c */
/* What the supervisor tells. */
struct nest__metrics_state {
    bool stopping;
    uint32_t workers; /* that live */
};
int nest__metrics_sums_prepare(size_t at); /* `at`: where a report has its metrics_worker */
void nest__metrics_sums_seal(void);        /* this process cannot write to the sums */
void nest__metrics_tell(struct nest__metrics_state);
struct nest__metrics_state nest__metrics_told(void);
void nest__metrics_fold(uint32_t worker); /* adds the counts of a worker that has ended */
/* All workers, those that have ended and those that live. The caller owns *sum. */
void nest__metrics_read(struct nest__metrics_counts *sum);

uint64_t nest__metrics_helper_queues(void); /* of all workers that live */

/* -- helpers.c */
void nest__metrics_count_helpers(struct nest__metrics_worker *); /* in a worker */

/* -- queues.c */
struct nest__metrics_queue { /* of a listening socket */
    const char *name;
    uint32_t waits, most; /* connections; `most` 0: not known */
};
void nest__metrics_queues_open(void); /* in the supervisor, for the service process */
void nest__metrics_queues_close(void);
/* Returns how many there are, 0 if no queue is known. */
unsigned nest__metrics_queues(const struct nest__metrics_queue **);

/* -- text.c */
struct nest__metrics_text { /* grows; the owner frees p */
    char *p;
    size_t n, size;
    bool failed; /* out of memory: what was added since is missing */
};
void nest__metrics_put(struct nest__metrics_text *, const char *format, ...) NEST_FORMAT(2, 3);
enum nest__metrics_format { NEST__METRICS_PROMETHEUS, NEST__METRICS_OPEN };
/* The counts in the text format of Prometheus (version 0.0.4) or of OpenMetrics (1.0.0). `fine`:
 * histograms have all their buckets, else one for each power of two. */
void nest__metrics_expose(struct nest__metrics_text *, enum nest__metrics_format, bool fine);

void nest__metrics_number(struct nest__metrics_text *, enum nest__metrics_format, const char *name,
                          const char *help, bool counter, uint64_t value);
/* What a counter or a gauge with labels is, before its values. `unit`: NULL, or the last part of
 * the name. */
void nest__metrics_family(struct nest__metrics_text *, enum nest__metrics_format, const char *name,
                          const char *help, bool counter, const char *unit);
void nest__metrics_quote(struct nest__metrics_text *, const char *value); /* of a label */
void nest__metrics_seconds(struct nest__metrics_text *text, uint64_t ns); /* ns as seconds */

/* -- files.c */
/* What fileCache has done; nothing without it. */
void nest__metrics_files(struct nest__metrics_text *, enum nest__metrics_format);

/* -- kernel.c */
/* What the kernel has answered; nothing without kernelCache. */
void nest__metrics_kernel(struct nest__metrics_text *, enum nest__metrics_format);

/* -- filtered.c */
/* What filters have done; nothing without them. */
void nest__metrics_filters(struct nest__metrics_text *, enum nest__metrics_format);

/* -- handshakes.c */
/* The ends of handshakes; nothing in a server without encryption. */
void nest__metrics_shakes(struct nest__metrics_text *, enum nest__metrics_format,
                          const struct nest__metrics_counts *);

/* -- metrics.c */
int nest__metrics_listener(void); /* the descriptor of the address; -1: there is none */

/* -- profile.c */
void nest__metrics_profile(void); /* prints the counts as a table */

#endif
