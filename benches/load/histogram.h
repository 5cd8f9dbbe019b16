/* histogram.h: counts of durations in nanoseconds, each within 1/128 of its value.
 *
 * Buckets are linear within a power of two. Must not know: what is measured. */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_FINE = 128, HISTOGRAM_BUCKETS = 64 * HISTOGRAM_FINE };

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t total, sum, most;
};

static inline void histogram_add(struct histogram *h, uint64_t ns) {
    unsigned shift = ns < 2 * HISTOGRAM_FINE ? 0 : 63 - 7 - (unsigned)__builtin_clzll(ns);
    h->counts[shift * HISTOGRAM_FINE + (ns >> shift)]++;
    h->total++;
    h->sum += ns;
    if (ns > h->most) {
        h->most = ns;
    }
}

static inline double histogram_mean(const struct histogram *h) {
    return h->total > 0 ? (double)h->sum / (double)h->total : 0;
}

/* The least value that this share of all does not exceed, as the middle of its bucket. */
static inline double histogram_at(const struct histogram *h, double share) {
    uint64_t seen = 0, wanted = (uint64_t)(share * (double)h->total);
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS && h->total > 0; i++) {
        seen += h->counts[i];
        if (seen > wanted || seen == h->total) {
            unsigned shift = i < 2 * HISTOGRAM_FINE ? 0 : i / HISTOGRAM_FINE - 1;
            uint64_t low = (uint64_t)(i - shift * HISTOGRAM_FINE) << shift;
            return (double)low + (double)((1ull << shift) - 1) / 2;
        }
    }
    return 0;
}

#endif
