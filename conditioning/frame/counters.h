/* A filter's counters. They are in memory that the chain shares with the filter, so that reading
 * them needs nothing of the filter, and a filter that is started again goes on counting. The memory
 * may be the server's, for all filters of a listening socket; then a chain that is started again
 * goes on as well. */
#ifndef CCF_COUNTERS_H
#define CCF_COUNTERS_H

#include <stdint.h>

enum { CCF__REASONS = 24, CCF__REASON_NAME = 24 };

struct ccf__counters {
    uint64_t accepted; /* connections and requests that arrived; also those that came back */
    uint64_t passed;   /* of these, handed on; to be read first, so that it is not more */
    uint64_t held;     /* now */
    uint64_t oldest;   /* when the oldest of these was accepted, CLOCK_MONOTONIC ms; 0: none */
    uint64_t deaths;   /* counted by the chain */
    uint64_t reasons;
    struct {
        char name[CCF__REASON_NAME];
        uint64_t count;
    } refused[CCF__REASONS];
};

/* Descriptors of a filter. */
enum {
    CCF__IN = 3,      /* a listening socket, or a hop's downstream end */
    CCF__OUT = 4,     /* a hop's upstream end: links are announced here */
    CCF__CONTROL = 5, /* from the chain */
    CCF__COUNTERS = 6 /* memory for struct ccf__counters */
};

/* In memory for several filters, bytes from one's counters to the next one's: whole pages. The
 * environment says which ones a filter has: CC_PLACE, from 0. */
enum { CCF__PLACE = 65536 };

/* The memory of a server has a place for each filter of each chain that a listening socket can have
 * at once: while filters that were replaced have clients, others count. */
enum { CCF__CHAINS = 8, CCF__CHAIN = 16 /* filters of one */ };

#endif
