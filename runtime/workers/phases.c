/* phases.c: how the server comes to its end, and what workers are told of it.
 *
 * Called by supervisor.c and by policies. State: the phase of the stop, and the supervisor's
 * orders: what it shares with workers might be written over. Must not know how clients are served.
 */
#include "../platform/platform.h"
#include "children.h"

enum {
    PHASES_GRACE_ONE_MS = 2000,  /* behind the cut; workers that go on are killed */
    PHASES_GRACE_MANY_MS = 4000, /* these end by themselves before */
    PHASES_NUDGE_MS = 20,        /* a signal may come just before a call that waits */
};

static struct {
    enum nest__stop_phase phase;
    uint32_t stops, reloads;     /* that were asked for */
    uint32_t told;               /* stops that workers are told of */
    uint64_t stopped_at, cut_at; /* ms */
    bool killed;
} phases;

enum nest__stop_phase nest__phase(void) {
    return phases.phase;
}

/* The orders, whatever has become of them. */
void nest__orders_publish(void) {
    struct nest__orders *orders = nest__orders_page;
    atomic_store(&orders->stops, phases.told);
    atomic_store(&orders->reloads, phases.reloads);
}

/* Workers are told of it. Those that serve many are told each stop that is asked for, by a signal
 * that differs from the first, for two of one number may arrive as one. */
static void phases_tell(uint32_t stops) {
    phases.told = stops;
    nest__orders_publish();
    nest__children_signal(stops > 1 && nest__policy_many ? SIGINT : SIGTERM);
}

static void phases_kill(void) {
    if (!nest__policy_many) {
        nest__say_killing(nest__children_live());
    }
    nest__children_signal(SIGKILL);
    phases.killed = true;
}

static void phases_drain(void) {
    phases.phase = NEST__DRAIN;
    phases.stopped_at = nest__clock_ms();
    nest__children_hurry(); /* for those who wait in queues while nobody serves */
    phases.told = 1;
    nest__orders_publish();
    nest__policy_stop(NEST__DRAIN);
    phases_tell(1);
}

static void phases_cut(void) {
    phases.phase = NEST__CUT_OFF;
    phases.cut_at = nest__clock_ms();
    nest__policy_stop(NEST__CUT_OFF);
    if (!nest__policy_many) {
        phases_tell(2);
    }
}

/* The first stop drains, the second cuts, a third one does not wait any longer for a worker of one
 * client. */
void nest__stop_asked(void) {
    phases.stops++;
    if (phases.phase == NEST__GO_ON) {
        phases_drain();
        return;
    }
    if (phases.phase == NEST__DRAIN) {
        phases_cut();
    } else if (!nest__policy_many && !phases.killed) {
        phases_kill();
    }
    if (nest__policy_many) {
        phases_tell(phases.stops);
    }
}

void nest__finish(void) {
    if (phases.phase == NEST__GO_ON) {
        nest__stop_asked();
    }
}

int nest__stop_advance(void) {
    uint64_t now = nest__clock_ms(), due = 0;
    uint32_t drain = nest__config.drain_timeout;
    if (phases.phase == NEST__DRAIN && drain > 0) {
        due = phases.stopped_at + drain;
        if (now >= due) {
            phases_cut();
        }
    }
    if (phases.phase == NEST__CUT_OFF && !phases.killed) {
        due = phases.cut_at + (nest__policy_many ? PHASES_GRACE_MANY_MS : PHASES_GRACE_ONE_MS);
        if (now >= due) {
            phases_kill();
        } else if (!nest__policy_many) {
            nest__children_signal(SIGTERM);
            return PHASES_NUDGE_MS;
        }
    }
    return due > now ? (int)(due - now) : -1;
}

void nest__stop_greet(void) {
    for (uint32_t told = 0; nest__policy_many && told < phases.stops; told++) {
        nest__children_signal(told == 0 ? SIGTERM : SIGINT);
    }
}

void nest__reload_tell(void) {
    phases.reloads++;
    nest__orders_publish();
    nest__children_signal(SIGHUP);
}

uint32_t nest__reloads_told(void) {
    return phases.reloads;
}
