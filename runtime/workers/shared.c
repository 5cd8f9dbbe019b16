/* shared.c: the memory that the supervisor shares with its workers, and what a report is worth.
 *
 * Called by the supervisor and by worker models. State: the mapping, which every worker inherits,
 * and the counts of connections: the supervisor's are those of all workers that have ended, a
 * worker's are its own. Must not know processes, nor what a worker model adds to a report. */
#include "shared.h"
#include "../platform/platform.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SHARED_WRITTEN = 64 * 1024 };

static struct {
    size_t page, each, size;  /* of orders; of a report; of all */
    size_t reserved;          /* behind each report */
    struct nest__report *own; /* of this process; NULL: it is no worker */
} shared;

void *nest__orders_page;

static _Atomic uint64_t shared_ended[NEST_REASONS], shared_unread[NEST_REASONS];
static _Atomic uint64_t shared_cut, shared_lost;
_Atomic uint64_t *nest__ended = shared_ended;
_Atomic uint64_t *nest__reported = shared_unread;
uint16_t nest__serial;

uint64_t nest__cut(void) {
    return atomic_load(&shared_cut);
}

void nest__cut_add(uint64_t clients) {
    atomic_fetch_add(&shared_cut, clients);
    if (shared.own != NULL) {
        atomic_fetch_add(&shared.own->cut, clients);
    }
}

void nest__lost_add(void) {
    nest__count(NEST_OPEN, UINT64_MAX); /* one less */
    atomic_fetch_add(&shared_lost, 1);
    if (shared.own != NULL) {
        atomic_fetch_add(&shared.own->lost, 1);
    }
}

size_t nest__report_reserve(size_t bytes) {
    size_t at = NEST__REPORT_MOST + shared.reserved;
    shared.reserved += (bytes + 63) / 64 * 64;
    return at;
}

static size_t shared_round(size_t bytes) {
    return (bytes + shared.page - 1) / shared.page * shared.page;
}

int nest__shared_prepare(uint32_t workers) {
    shared.page = (size_t)sysconf(_SC_PAGESIZE);
    shared.each = shared_round(NEST__REPORT_MOST + shared.reserved);
    shared.size = shared.page + workers * shared.each;
    void *memory = mmap(NULL, shared.size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return -ENOMEM;
    }
    nest__orders_page = memory;
    return 0;
}

void *nest__report_page(uint32_t worker) {
    return (char *)nest__orders_page + shared.page + worker * shared.each;
}

void *nest__report_own(size_t at) {
    return shared.own == NULL ? NULL : (char *)shared.own + at;
}

/* Large memory is given back, not written: most of it may never be used. */
void nest__report_clear(uint32_t worker) {
    struct nest__report *report = nest__report_page(worker);
    if (shared.each <= SHARED_WRITTEN || madvise(report, shared.each, MADV_REMOVE) == -1) {
        memset(report, 0, NEST__REPORT_MOST + shared.reserved);
    }
    report->guard = NEST__GUARD;
    report->guard_behind = NEST__GUARD;
}

/* Failure leaves the memory writable, which only a faulty action would notice. */
void nest__shared_seal(void) {
    (void)mprotect(nest__orders_page, shared.size, PROT_READ);
}

void nest__report_open(uint32_t worker) {
    shared.own = nest__report_page(worker);
    (void)mprotect(shared.own, shared.each, PROT_READ | PROT_WRITE);
    for (int reason = 0; reason < NEST_REASONS; reason++) {
        atomic_store(&shared_ended[reason], 0);
    }
    atomic_store(&shared_cut, 0);
    atomic_store(&shared_lost, 0);
    nest__reported = shared.own->ended;
}

void nest__report_close(bool settled) {
    struct nest__report *report = shared.own;
    if (settled) {
        report->guard = NEST__GUARD;
        report->guard_behind = NEST__GUARD;
        for (int reason = 0; reason < NEST_REASONS; reason++) {
            atomic_store(&report->ended[reason], atomic_load(&shared_ended[reason]));
        }
        atomic_store(&report->cut, atomic_load(&shared_cut));
        atomic_store(&report->lost, atomic_load(&shared_lost));
    }
    atomic_store(&report->over, NEST__OVER);
}

/* More than a process can have served in a century: no count. */
static bool shared_sane(uint64_t count) {
    return count < UINT64_C(1) << 48;
}

bool nest__report_sound(const struct nest__report *report) {
    return report->guard == NEST__GUARD && report->guard_behind == NEST__GUARD;
}

struct nest__told nest__report_read(uint32_t worker) {
    const struct nest__report *report = nest__report_page(worker);
    struct nest__told told = {.cut = atomic_load(&report->cut), .lost = atomic_load(&report->lost)};
    bool sane = nest__report_sound(report) && shared_sane(told.cut) && shared_sane(told.lost);
    for (int reason = 0; reason < NEST_REASONS; reason++) {
        told.ended[reason] = atomic_load(&report->ended[reason]);
        sane = sane && shared_sane(told.ended[reason]);
    }
    uint64_t over = atomic_load(&report->over);
    if (!sane || told.ended[NEST_OPEN] > nest__config.max_clients ||
        (over != 0 && over != NEST__OVER)) {
        return (struct nest__told){.spoiled = true};
    }
    told.over = over == NEST__OVER;
    return told;
}
