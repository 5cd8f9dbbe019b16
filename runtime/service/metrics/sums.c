/* sums.c: the counts of all workers, those that have ended and those that live.
 *
 * The supervisor writes the sums, in memory that all processes map; the service process reads them,
 * and the counts behind each worker's report. A worker may write anything there, or die at any
 * point, so what a worker says is checked, and left out if it cannot be true. Must not know what
 * the counts mean, except for opened and ended connections. */
#include "../../workers/children.h"
#include "../processors/processors.h"
#include "counts.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

enum { SUMS_TRIES = 1000 };

struct metrics_sums {
    /* Odd while the supervisor moves counts, so that a reader sees them once. */
    _Atomic uint32_t turn;
    _Atomic uint32_t seen, live; /* workers: numbers that were used; those that live */
    _Atomic bool stopping;
    struct nest__metrics_counts ended; /* of workers that have ended */
};
_Static_assert(NEST__METRICS_COUNTS * sizeof(uint64_t) == sizeof(struct nest__metrics_counts),
               "counts are an array");

static struct metrics_sums *sums; /* scope: server */
static size_t sums_at;            /* scope: process; in a report */

int nest__metrics_sums_prepare(size_t at) {
    void *memory =
        mmap(NULL, sizeof *sums, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return -ENOMEM;
    }
    sums = memory;
    sums_at = at;
    return 0;
}

void nest__metrics_sums_seal(void) {
    (void)mprotect(sums, sizeof *sums, PROT_READ);
}

void nest__metrics_tell(struct nest__metrics_state state) {
    atomic_store(&sums->stopping, state.stopping);
    atomic_store(&sums->live, state.workers);
    atomic_store(&sums->seen, nest__children_seen());
}

struct nest__metrics_state nest__metrics_told(void) {
    return (struct nest__metrics_state){atomic_load(&sums->stopping), atomic_load(&sums->live)};
}

static struct nest__metrics_worker *sums_worker(uint32_t worker) {
    return (void *)((char *)nest__report_page(worker) + sums_at);
}

static _Atomic uint64_t *sums_array(struct nest__metrics_counts *counts) {
    return (_Atomic uint64_t *)(void *)counts;
}

/* More than a worker can have counted in a century. Sums of times reach 2^61 ns. */
static bool sums_sane(uint64_t count) {
    return count < UINT64_C(1) << 61;
}

/* Adds what a worker counted to *to, which nobody else writes. False: it cannot be true, and
 * nothing was added. */
static bool sums_add(struct nest__metrics_worker *worker, uint32_t number,
                     struct nest__metrics_counts *to) {
    uint32_t threads = atomic_load(&worker->most);
    if (worker->guard != NEST__METRICS_GUARD || threads > nest__writers() ||
        !nest__report_sound(nest__report_page(number))) {
        return false;
    }
    for (uint32_t thread = 0; thread < threads; thread++) {
        uint64_t copy[NEST__METRICS_COUNTS];
        _Atomic uint64_t *from = sums_array(&worker->threads[thread]), *into = sums_array(to);
        bool sane = true;
        for (unsigned i = 0; i < NEST__METRICS_COUNTS; i++) {
            copy[i] = atomic_load_explicit(&from[i], memory_order_relaxed);
            sane = sane && sums_sane(copy[i]);
        }
        for (unsigned i = 0; i < NEST__METRICS_COUNTS && sane; i++) {
            nest__metrics_add(&into[i], copy[i]);
        }
    }
    return true;
}

/* Connections that are open, and actions that wait: their worker has ended. */
static void sums_close(struct nest__metrics_counts *counts) {
    uint64_t ended = nest__metrics_ended(counts);
    uint64_t opened = atomic_load(&counts->opened);
    nest__metrics_add(&counts->ended[NEST_OPEN], opened > ended ? opened - ended : 0);
    atomic_store(&counts->resumed, atomic_load(&counts->waits));
}

void nest__metrics_fold(uint32_t worker) {
    static struct nest__metrics_counts own;
    struct nest__metrics_worker *counted = sums_worker(worker);
    memset(&own, 0, sizeof own);
    bool sound = sums_add(counted, worker, &own);
    atomic_fetch_add(&sums->turn, 1);
    if (sound) {
        sums_close(&own);
        for (unsigned i = 0; i < NEST__METRICS_COUNTS; i++) {
            nest__metrics_add(&sums_array(&sums->ended)[i], atomic_load(&sums_array(&own)[i]));
        }
    }
    counted->guard = 0;
    atomic_fetch_add(&sums->turn, 1);
}

uint64_t nest__metrics_helper_queues(void) {
    uint64_t all = 0;
    for (uint32_t worker = 0; worker < atomic_load(&sums->seen); worker++) {
        const struct nest__metrics_worker *counted = sums_worker(worker);
        all += counted->guard == NEST__METRICS_GUARD ? atomic_load(&counted->helper_queue) : 0;
    }
    return all;
}

/* Connections that were lost with their thread, while their worker lives. */
static void sums_lost(uint32_t worker, struct nest__metrics_counts *sum) {
    uint64_t lost = nest__report_read(worker).lost;
    nest__metrics_add(&sum->ended[NEST_OPEN], lost);
    nest__metrics_add(&sum->resumed, lost);
}

void nest__metrics_read(struct nest__metrics_counts *sum) {
    uint32_t before;
    int tries = 0;
    do {
        before = atomic_load(&sums->turn);
        memcpy(sum, &sums->ended, sizeof *sum);
        for (uint32_t worker = 0; worker < atomic_load(&sums->seen); worker++) {
            struct nest__metrics_worker *counted = sums_worker(worker);
            if (sums_add(counted, worker, sum)) {
                sums_lost(worker, sum);
            }
        }
        atomic_thread_fence(memory_order_acquire);
        tries++;
    } while ((before % 2 != 0 || before != atomic_load(&sums->turn)) && tries < SUMS_TRIES &&
             sched_yield() == 0);
}
