/* prefork.c: the policy of processes that serve one client after another: a few wait for the next.
 *
 * Called by the supervisor. Between minSpare and maxSpare workers wait: if fewer do, others are
 * forked; if more do, half of those that are too many are told to go, every second. State: how many
 * waited at the last count. Must not know how a connection is served.
 *
 * A worker's word that it waits is believed: at worst nobody waits in its place. */
#include "../blocking/blocking.h"
#include "../platform/platform.h"
#include "children.h"
#include "idle_exit.h"
#include "process.h"

enum { PREFORK_LOOK_MS = 1000, PREFORK_ERRNO_MOST = 4095 };

const bool nest__policy_many = false, nest__policy_successive = true;

static struct {
    uint32_t spares;  /* workers that waited for a client at the last count */
    uint64_t changed; /* when the configuration did, ms: workers from before are stale */
    bool leaving;     /* stale ones wait, and are told until they have gone */
    bool queued;      /* in a stop: clients wait in queues of listeners */
    uint64_t next;    /* when it looks for workers that are too many, ms; 0: there are none */
    uint64_t ended;   /* connections that had ended at the last look */
    struct nest__idle_exit idle;
    _Atomic uint32_t scarce; /* when it was said that no client can be taken */
} prefork;

static uint32_t prefork_least(void) {
    uint32_t least = atomic_load(&nest__config.min_spare);
    return least < nest__config.max_clients ? least : nest__config.max_clients;
}

static uint32_t prefork_most(void) {
    uint32_t least = prefork_least(), most = atomic_load(&nest__config.max_spare);
    return most < least ? least : most;
}

static bool prefork_waits(uint32_t worker) {
    return nest__child(worker)->pid != 0 &&
           atomic_load(&nest__process_report(worker)->state) == NEST__SPARE;
}

static bool prefork_is_stale(uint32_t worker) {
    return prefork.changed != 0 && nest__child(worker)->begun <= prefork.changed;
}

/* Counts the workers that wait. Some of them are shown to the others, who wake the supervisor when
 * fewer than half of these are left. */
static void prefork_count(void) {
    struct nest__process_orders *orders = nest__process_orders();
    uint32_t count = 0;
    for (uint32_t worker = 0; worker < nest__children_seen(); worker++) {
        uint32_t scarce = atomic_exchange(&nest__process_report(worker)->scarce, 0);
        if (scarce > 0 && scarce <= PREFORK_ERRNO_MOST) {
            nest__scarce(&prefork.scarce, -(int)scarce);
        }
        if (prefork_waits(worker) && !prefork_is_stale(worker)) {
            if (count < NEST__SPARES) {
                atomic_store(&orders->spares[count], worker + 1);
            }
            count++;
        }
    }
    for (uint32_t place = count; place < NEST__SPARES; place++) {
        atomic_store(&orders->spares[place], 0);
    }
    prefork.spares = count;
}

uint32_t nest__policy_wanted(void) {
    struct nest__process_orders *orders = nest__process_orders();
    uint32_t least = prefork_least(), room = nest__config.max_clients - nest__children_live();
    if (nest__phase() >= NEST__CUTTING || (nest__phase() == NEST__DRAINING && !prefork.queued)) {
        return 0;
    }
    atomic_store(&orders->full, 0);
    atomic_store(&orders->target, least < NEST__SPARES ? least : NEST__SPARES);
    atomic_fetch_add(&orders->pass, 1); /* who takes a client from here on asks again */
    prefork_count();
    uint32_t wanted = prefork.spares < least ? least - prefork.spares : 0;
    atomic_store(&orders->full, wanted >= room);
    return wanted < room ? wanted : room;
}

void nest__policy_fork(uint32_t worker) {
    struct nest__process_orders *orders = nest__process_orders();
    atomic_store(&nest__process_report(worker)->state, NEST__SPARE);
    if (prefork.spares < NEST__SPARES) {
        atomic_store(&orders->spares[prefork.spares], worker + 1);
    }
    prefork.spares++;
}

bool nest__policy_gone(uint32_t worker) {
    atomic_store(&nest__process_report(worker)->limit.deadline, 0);
    return true;
}

bool nest__policy_beat(pid_t pid) { /* the supervisor itself tells the watchdog */
    (void)pid;
    return false;
}

/* -- workers that are too many, or stale */

/* Half of those that are too many; the highest numbers, so that the table stays short. */
static void prefork_trim(void) {
    uint32_t over = prefork.spares - prefork_most();
    over -= over / 2;
    for (uint32_t worker = nest__children_seen(); worker-- > 0 && over > 0;) {
        if (prefork_waits(worker)) {
            nest__child_dismiss(worker);
            over--;
        }
    }
}

/* Connections that have ended, also of workers that go on. */
static uint64_t prefork_ended(void) {
    uint64_t ended = nest__ended_all();
    for (uint32_t worker = 0; worker < nest__children_seen(); worker++) {
        const struct nest__report *report = nest__report_page(worker);
        for (int reason = NEST_OPEN + 1; reason < NEST_REASONS && nest__child(worker)->pid != 0;
             reason++) {
            ended += atomic_load(&report->ended[reason]);
        }
    }
    return ended;
}

/* Looks every second while clients leave. Otherwise it sleeps, and the next worker whose client
 * leaves wakes it: the order is given before the last look, so that none is missed. */
static int prefork_look(void) {
    struct nest__process_orders *orders = nest__process_orders();
    uint64_t now = nest__clock_ms();
    if (nest__children_live() <= prefork_most()) {
        atomic_store(&orders->returns, 0);
        prefork.next = 0;
        return -1;
    }
    if (now < prefork.next) {
        return (int)(prefork.next - now);
    }
    atomic_store(&orders->returns, 1);
    uint64_t ended = prefork_ended();
    prefork_count();
    if (prefork.spares <= prefork_most() && ended == prefork.ended) {
        return -1;
    }
    atomic_store(&orders->returns, 0);
    if (prefork.spares > prefork_most() && prefork.next != 0) {
        prefork_trim();
    }
    prefork.ended = ended;
    prefork.next = now + PREFORK_LOOK_MS;
    return PREFORK_LOOK_MS;
}

/* A signal may come just before a call that waits, so workers that wait are told again. One that
 * has a client goes when it has served it. */
static int prefork_refresh(bool busy) {
    bool left = false;
    for (uint32_t worker = 0; worker < nest__children_seen(); worker++) {
        bool waits = prefork_waits(worker);
        if (nest__child(worker)->pid != 0 && prefork_is_stale(worker) && (busy || waits)) {
            nest__child_dismiss(worker);
            left = left || waits;
        }
    }
    prefork.leaving = left;
    return left ? NEST__NUDGE_MS : -1;
}

int nest__policy_mind(bool woken) {
    int timeout = nest__wake_due(woken);
    prefork.queued = nest__phase() == NEST__DRAINING && !nest__listen_stop();
    if (prefork.leaving) {
        timeout = nest__sooner(timeout, prefork_refresh(false));
    }
    if (nest__phase() == NEST__SERVING) {
        timeout = nest__sooner(timeout, prefork_look());
    }
    if (nest__phase() == NEST__SERVING && nest__listen_idle_exit() > 0) {
        prefork_count();
        bool busy = nest__children_live() > prefork.spares;
        if (nest__idle_exit_due(&prefork.idle, nest__listen_idle_exit(), busy, prefork_ended(),
                                &timeout)) {
            nest__finish();
        }
    }
    return timeout;
}

void nest__policy_reload(void) {
    prefork.changed = nest__clock_ms();
    (void)prefork_refresh(true);
    prefork.leaving = true;
}

/* Workers forked from here on have the phase from the beginning. */
void nest__policy_stop(enum nest__stop_phase phase) {
    atomic_store(&nest__stop, (int)phase);
    if (phase == NEST__DRAINING) {
        (void)nest__listen_stop();
    }
}
