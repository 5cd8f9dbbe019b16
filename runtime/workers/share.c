/* share.c: how the loops of a server share its clients.
 *
 * Called by loop/ in workers, and by dispatchers.c. Every loop has a count of its clients in its
 * own report, which only it and the supervisor can write to; the others read it and bound it, and
 * leave out a report that has been written over. So no loop can be stopped by another one's death
 * in the middle of a change, nor by what another one has spoiled. Its own count it knows by itself.
 *
 * A loop counts a client before it takes it, and then adds up all counts. Of several loops that
 * count at the same time, the last one sees all others, so there are never more than maxClients;
 * two may both find one too many, and both try again.
 *
 * A loop that has more clients than the mean yields when a client comes: it rests for a moment, and
 * takes the client only if no other loop has done so by then, because the others are busy or hang.
 * With maxClients clients every loop rests. A loop that is to rest first says so and then adds up
 * again; one that changes the sums first changes its count and then looks who rests, and wakes
 * those that are to listen. So no loop rests for ever. State: the descriptors that wake loops; this
 * loop's number and count, and whether it yields. */
#include "dispatchers.h"

#include "../platform/platform.h"
#include "supervisor.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct share_report {
    struct nest__report report;
    _Atomic uint32_t serves; /* 1: the loop takes part, and clients if there are any */
    _Atomic uint32_t clients;
    _Atomic uint32_t rests; /* 1: it does not listen */
};
_Static_assert(sizeof(struct share_report) <= (size_t)NEST__REPORT_MOST, "the report is cleared");

static struct {
    uint32_t most;
    int *wakes;               /* eventfds, by worker */
    struct share_report *own; /* NULL: this process has no supervisor */
    uint32_t worker, clients;
    bool serves;  /* it takes part: it does not end when its last client has left, */
    bool over;    /* and is not overloaded */
    bool yields;  /* it rests because others have fewer clients */
    bool insists; /* it has rested, and takes the next client in any case */
} share;

static struct share_report *share_of(uint32_t worker) {
    return nest__report_page(worker);
}

int nest__share_prepare(uint32_t most) {
    share.wakes = calloc(most, sizeof *share.wakes);
    if (share.wakes == NULL) {
        return -ENOMEM;
    }
    for (uint32_t worker = 0; worker < most; worker++) {
        share.wakes[worker] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (share.wakes[worker] == -1) {
            return -errno;
        }
    }
    share.most = most;
    return 0;
}

uint32_t nest__share_most(void) {
    return share.most;
}

void nest__share_begin(uint32_t worker) {
    share.worker = worker;
    share.own = share_of(worker);
    share.serves = true;
    atomic_store(&share.own->serves, 1);
}

/* -- sums */

struct share_sum {
    uint64_t clients;
    uint32_t loops;
};

static uint32_t share_count(const struct share_report *report) {
    uint32_t clients = nest__report_sound(&report->report) ? atomic_load(&report->clients) : 0;
    return clients < nest__config.max_clients ? clients : nest__config.max_clients;
}

/* `clients`: of this loop. */
static struct share_sum share_sum_with(uint32_t clients) {
    struct share_sum sum = {clients, share.serves && !share.over};
    for (uint32_t worker = 0; worker < share.most; worker++) {
        const struct share_report *report = share_of(worker);
        if (report != share.own) {
            sum.clients += share_count(report);
            sum.loops += nest__report_sound(&report->report) && atomic_load(&report->serves) != 0;
        }
    }
    return sum;
}

static struct share_sum share_sum(void) {
    return share_sum_with(share.clients);
}

static bool share_is_full(const struct share_sum *sum) {
    return sum->clients >= nest__config.max_clients;
}

/* Whether a loop with so many clients has more than the others. */
static bool share_is_above(const struct share_sum *sum, uint32_t clients) {
    return (uint64_t)clients * sum->loops >= sum->clients + sum->loops;
}

static void share_wake(uint32_t worker) {
    uint64_t one = 1;
    nest__write(share.wakes[worker], &one, sizeof one);
}

/* The sums have changed: wakes the loops that rest and are to listen. */
static void share_wake_others(void) {
    struct share_sum sum = share_sum();
    for (uint32_t worker = 0; worker < share.most; worker++) {
        const struct share_report *report = share_of(worker);
        if (report != share.own && atomic_load(&report->rests) != 0 && !share_is_full(&sum) &&
            !share_is_above(&sum, share_count(report))) {
            share_wake(worker);
        }
    }
}

/* -- in a loop */

uint32_t nest__share_clients(void) {
    return share.own == NULL ? share.clients : (uint32_t)share_sum().clients;
}

/* A stop leaves the clients in the queues to any loop. */
static bool share_yields(void) {
    struct share_sum sum = share_sum();
    return !share.insists && !nest__stopping() && share_is_above(&sum, share.clients);
}

bool nest__share_take(void) {
    if (share.own == NULL) {
        share.clients++;
        return true;
    }
    share.yields = share_yields();
    if (share.yields) {
        return false;
    }
    atomic_store(&share.own->clients, share.clients + 1);
    bool fits = share_sum_with(share.clients + 1).clients <= nest__config.max_clients;
    if (fits) {
        share.clients++;
        share.insists = false;
    } else {
        atomic_store(&share.own->clients, share.clients);
    }
    share_wake_others();
    return fits;
}

void nest__share_give(void) {
    share.clients--;
    if (share.own != NULL) {
        atomic_store(&share.own->clients, share.clients);
        share_wake_others();
    }
}

static bool share_rests(void) {
    struct share_sum sum = share_sum();
    return share_is_full(&sum) || (share.yields && share_is_above(&sum, share.clients));
}

bool nest__share_listens(void) {
    if (share.own == NULL) {
        return true;
    }
    bool rests = share_rests();
    if (rests) {
        atomic_store(&share.own->rests, 1);
        rests = share_rests();
    }
    if (!rests && atomic_load(&share.own->rests) != 0) {
        atomic_store(&share.own->rests, 0);
    }
    share.yields = share.yields && rests;
    return !rests;
}

bool nest__share_yields(void) {
    return share.yields;
}

void nest__share_insist(void) {
    share.insists = share.yields;
    share.yields = false;
}

int nest__share_fd(void) {
    return share.own == NULL ? -1 : share.wakes[share.worker];
}

void nest__share_woken(void) {
    uint64_t count;
    (void)!read(share.wakes[share.worker], &count, sizeof count);
}

bool nest__share_reload(void) {
    nest__reload_follow();
    if (share.own == NULL) {
        return true;
    }
    bool stays = share.worker < nest__dispatchers();
    share.serves = stays;
    atomic_store(&share.own->serves, stays && !share.over);
    share_wake_others();
    return stays;
}

void nest__share_overloaded(bool over) {
    share.over = over;
    if (share.own != NULL) {
        atomic_store(&share.own->serves, share.serves && !over);
        share_wake_others();
    }
}

/* -- in the supervisor */

void nest__share_end(uint32_t worker) {
    struct share_report *report = share_of(worker);
    atomic_store(&report->serves, 0);
    atomic_store(&report->clients, 0);
    atomic_store(&report->rests, 0);
    for (uint32_t other = 0; other < share.most; other++) {
        if (atomic_load(&share_of(other)->rests) != 0) {
            share_wake(other);
        }
    }
}
