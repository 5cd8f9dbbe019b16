/* one.c: the policy of models in which one worker serves all clients: there is one, always.
 *
 * Called by the supervisor. No state. Must not know how it serves. */
#include "children.h"

const bool nest__policy_many = true, nest__policy_successive = false;

/* A worker that dies during the stop has no successor, except for one that died before: somebody
 * serves those who wait in the queues of listeners. */
uint32_t nest__policy_wanted(void) {
    bool over = nest__children_over() != -1 || nest__children_failed();
    return nest__children_live() == 0 && !over ? 1 : 0;
}

void nest__policy_fork(uint32_t worker) {
    (void)worker;
}

bool nest__policy_gone(uint32_t worker) {
    (void)worker;
    return true;
}

int nest__policy_mind(bool woken) {
    (void)woken;
    return -1;
}

void nest__policy_reload(void) {
}

bool nest__policy_beat(pid_t pid) {
    (void)pid;
    return true;
}

void nest__policy_stop(enum nest__stop_phase phase) {
    (void)phase; /* the worker refuses newcomers itself, once it has been told */
}
