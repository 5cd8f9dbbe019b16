/* spares.c: the policy of a process for each connection: some are forked ahead, and wait for a
 * client.
 *
 * Called by the supervisor. What a connection costs beyond its own calls was paid before it came:
 * a worker takes one, serves it and ends, and the supervisor forks the next. State: which workers
 * are spares, in private memory. Must not know how a connection is served.
 *
 * What workers report is not believed: a worker whose report is spoiled has had a client. */
#include "../blocking/blocking.h"
#include "../platform/platform.h"
#include "children.h"
#include "idle_exit.h"
#include "process.h"

#include <stdlib.h>

enum { SPARES_ERRNO_MOST = 4095 };

const bool nest__policy_many = false, nest__policy_successive = false;

static struct {
    uint32_t worker[NEST__SPARES]; /* number + 1; 0: the place is free */
    uint32_t shown[NEST__SPARES];  /* what the orders say: it stays when the worker has a client */
    bool stale[NEST__SPARES];      /* forked before the configuration changed */
    bool leaving;                  /* some are stale, and are told until they have gone */
    bool queued;                   /* in a stop: clients wait in queues of listeners */
    struct nest__idle_exit idle;
    _Atomic uint32_t scarce; /* when it was said that no client can be taken */
} spares;

static uint32_t spares_target(void) {
    return nest__config.max_clients < NEST__SPARES ? nest__config.max_clients : NEST__SPARES;
}

/* Places of workers that have a client by now become free. How many spares are left. */
static uint32_t spares_count(void) {
    uint32_t count = 0;
    for (unsigned place = 0; place < NEST__SPARES; place++) {
        uint32_t taken = spares.worker[place];
        if (taken == 0) {
            continue;
        }
        struct nest__process_report *report = nest__process_report(taken - 1);
        uint32_t scarce = atomic_exchange(&report->scarce, 0);
        if (scarce > 0 && scarce <= SPARES_ERRNO_MOST) {
            nest__scarce(&spares.scarce, -(int)scarce);
        }
        if (atomic_load(&report->state) != NEST__SPARE) {
            spares.worker[place] = 0; /* workers see it until the place is taken anew */
        } else {
            count++;
        }
    }
    return count;
}

uint32_t nest__policy_wanted(void) {
    struct nest__process_orders *orders = nest__process_orders();
    if (nest__phase() >= NEST__CUTTING || (nest__phase() == NEST__DRAINING && !spares.queued)) {
        return 0;
    }
    for (unsigned place = 0; place < NEST__SPARES; place++) {
        atomic_store(&orders->spares[place], spares.shown[place]);
    }
    atomic_store(&orders->target, spares_target());
    atomic_fetch_add(&orders->pass, 1); /* who takes a client from here on asks again */
    uint32_t wanted = spares_target() - spares_count();
    uint32_t room = nest__config.max_clients - nest__children_live();
    atomic_store(&orders->full, wanted >= room);
    return wanted < room ? wanted : room;
}

void nest__policy_fork(uint32_t worker) {
    struct nest__process_report *report = nest__process_report(worker);
    unsigned place = 0;
    while (place < NEST__SPARES - 1 && spares.worker[place] != 0) {
        place++;
    }
    atomic_store(&report->state, NEST__SPARE);
    spares.worker[place] = spares.shown[place] = worker + 1;
    spares.stale[place] = false;
    atomic_store(&nest__process_orders()->spares[place], worker + 1);
}

bool nest__policy_gone(uint32_t worker) {
    bool spare = false;
    atomic_store(&nest__process_report(worker)->limit.deadline, 0);
    (void)spares_count();
    for (unsigned place = 0; place < NEST__SPARES; place++) {
        if (spares.worker[place] == worker + 1) {
            spares.worker[place] = 0;
            spare = true;
        }
        if (spares.shown[place] == worker + 1) {
            spares.shown[place] = 0;
            atomic_store(&nest__process_orders()->spares[place], 0);
        }
    }
    return !spare;
}

bool nest__policy_beat(pid_t pid) { /* the supervisor itself tells the watchdog */
    (void)pid;
    return false;
}

/* -- what the supervisor minds for workers -------------------------------------------------------
 */

/* Spares that were forked before the configuration changed are told to go, again and again: a
 * signal may come just before a call that waits. */
static int spares_refresh(void) {
    bool left = false;
    (void)spares_count();
    for (unsigned place = 0; place < NEST__SPARES; place++) {
        if (spares.worker[place] != 0 && spares.stale[place]) {
            nest__child_dismiss(spares.worker[place] - 1);
            left = true;
        }
    }
    spares.leaving = left;
    return left ? NEST__NUDGE_MS : -1;
}

int nest__policy_mind(bool woken) {
    int timeout = nest__wake_due(woken);
    spares.queued = nest__phase() == NEST__DRAINING && !nest__listen_stop();
    if (spares.leaving) {
        timeout = nest__sooner(timeout, spares_refresh());
    }
    if (nest__phase() == NEST__SERVING && nest__listen_idle_exit() > 0) {
        bool busy = nest__children_live() > spares_count();
        if (nest__idle_exit_due(&spares.idle, nest__listen_idle_exit(), busy, nest__ended_all(),
                                &timeout)) {
            nest__finish();
        }
    }
    return timeout;
}

void nest__policy_reload(void) {
    for (unsigned place = 0; place < NEST__SPARES; place++) {
        spares.stale[place] = true;
    }
    (void)spares_refresh();
}

/* Workers forked from here on have the phase from the beginning. */
void nest__policy_stop(enum nest__stop_phase phase) {
    atomic_store(&nest__stop, (int)phase);
    if (phase == NEST__DRAINING) {
        (void)nest__listen_stop();
    }
}
