/* phases.c: the supervisor follows the policy of a stop (stop.h), and tells its workers.
 *
 * Called by supervisor.c and by policies. State: the phase of the stop, and the supervisor's
 * orders: workers might overwrite what they share. Must not know how clients are served. */
#include "../platform/platform.h"
#include "children.h"

enum { PHASES_FOLLOW_MS = 2000 /* a reload is reported at the latest after this time */ };

static struct {
    struct nest__stop_state stop;
    uint32_t stops, reloads; /* that were requested */
    uint32_t told;           /* stops that workers are told of */
    uint64_t follow;         /* when a reload is reported at the latest; 0: none is to be */
} phases;

enum nest__stop_phase nest__phase(void) {
    return phases.stop.phase;
}

/* The orders, whatever has become of them. */
void nest__orders_publish(void) {
    struct nest__orders *orders = nest__orders_page;
    atomic_store(&orders->stops, phases.told);
    atomic_store(&orders->reloads, phases.reloads);
}

/* Workers that serve many are told each stop that is requested, by a signal that differs from the
 * first, for two of one number may arrive as one. */
static void phases_tell(uint32_t stops) {
    phases.told = stops;
    nest__orders_publish();
    nest__children_signal(stops > 1 && nest__policy_many ? SIGINT : SIGTERM);
}

static void phases_enter(enum nest__stop_phase phase) {
    if (phase == NEST__DRAINING) {
        nest__children_hurry(); /* for those who wait in queues while nobody serves */
        phases.told = 1;
        nest__orders_publish();
    }
    if (phase == NEST__FINISHED) {
        if (!nest__policy_many) {
            nest__say_killing(nest__children_live());
        }
        nest__children_signal(SIGKILL);
        return;
    }
    nest__policy_stop(phase);
    if (!nest__policy_many) {
        phases_tell(phase == NEST__DRAINING ? 1 : 2);
    }
}

static void phases_move(enum nest__stop_event event) {
    phases.stop.role = nest__policy_many ? NEST__STOP_CHILD_MANY : NEST__STOP_CHILDREN;
    if (nest__stop_move(&phases.stop, event, nest__clock_ms())) {
        phases_enter(phases.stop.phase);
    }
}

/* Workers that serve many count requests themselves. */
void nest__stop_asked(void) {
    if (phases.stops++ == 0) {
        nest__on_halt();
    }
    phases_move(NEST__STOP_REQUESTED);
    if (nest__policy_many) {
        phases_tell(phases.stops);
    }
}

void nest__finish(void) {
    if (nest__phase() == NEST__SERVING) {
        nest__stop_asked();
    }
}

int nest__stop_advance(void) {
    int left = nest__stop_left(&phases.stop, nest__clock_ms());
    if (left == 0) {
        phases_move(NEST__STOP_LATE);
        left = nest__stop_left(&phases.stop, nest__clock_ms());
    }
    if (nest__phase() == NEST__CUTTING && !nest__policy_many) {
        nest__children_signal(SIGTERM);
        return NEST__NUDGE_MS;
    }
    return left;
}

void nest__stop_greet(void) {
    for (uint32_t told = 0; nest__policy_many && told < phases.stops; told++) {
        nest__children_signal(told == 0 ? SIGTERM : SIGINT);
    }
}

void nest__reload_tell(void) {
    phases.reloads++;
    phases.follow = nest__clock_ms() + PHASES_FOLLOW_MS;
    nest__orders_publish();
    nest__children_signal(SIGHUP);
}

static bool phases_followed(void) {
    for (uint32_t worker = 0; worker < nest__children_seen(); worker++) {
        const struct nest__report *report = nest__report_page(worker);
        if (nest__child(worker)->pid != 0 && atomic_load(&report->reloads) != phases.reloads) {
            return false;
        }
    }
    return true;
}

int nest__reload_advance(void) {
    if (phases.follow == 0) {
        return -1;
    }
    uint64_t now = nest__clock_ms();
    bool followed = phases_followed();
    if (!followed && now < phases.follow) {
        return (int)(phases.follow - now);
    }
    phases.follow = 0;
    nest__config_applied(followed);
    return -1;
}

uint32_t nest__reloads_told(void) {
    return phases.reloads;
}
