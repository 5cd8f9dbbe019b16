/* process.h: what the policy of worker processes and a worker share, in memory and in words.
 *
 * Reports are written by workers, orders by the supervisor: see shared.h. */
#ifndef NEST_WORKERS_PROCESS_H
#define NEST_WORKERS_PROCESS_H

#include "../blocking/watch.h"
#include "supervisor.h"

enum { NEST__SPARES = 16 }; /* workers that wait for a client and that others look at */
#define NEST__SPARE UINT32_C(0x5ba7e10d)

struct nest__process_report {
    struct nest__report common;
    struct nest__deadline_slot limit;
    _Atomic uint32_t
        state; /* NEST__SPARE: it waits for a client. Anything else: it has or had one */
    _Atomic uint32_t asked;  /* for more spares: in which pass of the supervisor */
    _Atomic uint32_t scarce; /* the errno for which it cannot take a client; 0: it can */
};
struct nest__process_orders {
    struct nest__orders common;
    struct nest__watch watch;
    _Atomic uint32_t pass;    /* how often the supervisor has counted the spares, modulo 2^32 */
    _Atomic uint32_t full;    /* no worker can be forked before one ends: nobody need ask */
    _Atomic uint32_t returns; /* 1: a worker whose client has left wakes the supervisor */
    _Atomic uint32_t target;  /* how many spares there should be */
    _Atomic uint32_t spares[NEST__SPARES]; /* number + 1 of a worker that waited for a client */
};
_Static_assert(sizeof(struct nest__process_report) <= NEST__REPORT_MOST, "it fits its page");
_Static_assert(sizeof(struct nest__process_orders) <= NEST__ORDERS_MOST, "they fit their page");

static inline struct nest__process_report *nest__process_report(uint32_t worker) {
    return nest__report_page(worker);
}
static inline struct nest__process_orders *nest__process_orders(void) {
    return nest__orders_page;
}

/* -- wake.c: for policies. `woken`: a worker asked for it. ms until the next look, -1: none. */
int nest__wake_due(bool woken);

/* -- worker.c */
int nest__worker_prepare(void); /* what every worker inherits; 0 or -ENOMEM */

#endif
