/* dispatchers.c: the policy of servers whose workers are loops: how many there are.
 *
 * Called by the supervisor. State: which workers have reported that they run, for systemd's
 * watchdog. If the option becomes smaller, the workers with the highest numbers end when their last
 * clients have left, so no client is cut off. Must not know how clients are served. */
#include "dispatchers.h"

#include "../platform/platform.h"
#include "children.h"
#include "supervisor.h"

#include <string.h>

const bool nest__policy_many = true, nest__policy_successive = false;

static struct {
    bool beaten[NEST__DISPATCHERS_MOST]; /* it has reported since systemd was last notified */
} dispatchers;

uint32_t nest__dispatchers(void) {
    uint32_t wanted = nest__config.dispatchers, most = nest__share_most();
    wanted = wanted == 0 ? nest__processors() : wanted;
    return most != 0 && wanted > most ? most : wanted;
}

/* It never changes once memory for so many is there. */
uint32_t nest__dispatchers_most(void) {
    uint32_t most = nest__share_most();
    if (most == 0) {
        most = nest__processors();
        most = most < nest__config.dispatchers ? nest__config.dispatchers : most;
    }
    return most > NEST__DISPATCHERS_MOST ? NEST__DISPATCHERS_MOST : most;
}

int nest__dispatchers_prepare(void) {
    uint32_t most = nest__dispatchers_most();
    int error = nest__supervisor_prepare(most);
    if (error == 0 && (error = nest__share_prepare(most)) != 0) {
        nest__say("cannot start: %s", strerror(-error));
    }
    return error;
}

/* A worker that dies during the stop is not replaced if others can serve the clients that wait in
 * queues. A worker that ended because no client came for a long time is not replaced either. */
uint32_t nest__policy_wanted(void) {
    uint32_t wanted = 0;
    if (nest__children_over() != -1) {
        return 0;
    }
    if (nest__phase() != NEST__SERVING) {
        return nest__children_live() == 0 && !nest__children_failed() ? 1 : 0;
    }
    for (uint32_t worker = nest__dispatchers(); worker-- > 0;) {
        wanted += nest__child(worker)->pid == 0;
    }
    return wanted;
}

void nest__policy_fork(uint32_t worker) {
    dispatchers.beaten[worker] = true;
}

/* Returns whether the worker is still wanted; false: `dispatchers` became smaller. */
bool nest__policy_gone(uint32_t worker) {
    nest__share_end(worker);
    return worker < nest__dispatchers() || nest__phase() != NEST__SERVING;
}

int nest__policy_mind(bool woken) {
    (void)woken;
    return -1;
}

void nest__policy_reload(void) {
}

void nest__policy_stop(enum nest__stop_phase phase) {
    (void)phase; /* workers refuse new clients themselves when they get the signal */
}

bool nest__policy_beat(pid_t pid) {
    bool all = true;
    for (uint32_t worker = 0; worker < nest__children_seen(); worker++) {
        pid_t child = nest__child(worker)->pid;
        dispatchers.beaten[worker] = dispatchers.beaten[worker] || child == pid;
        all = all && (child == 0 || dispatchers.beaten[worker]);
    }
    for (uint32_t worker = 0; all && worker < nest__children_seen(); worker++) {
        dispatchers.beaten[worker] = false;
    }
    return all;
}
