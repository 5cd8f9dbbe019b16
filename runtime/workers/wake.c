/* wake.c: wakes workers whose clients let their time run out.
 *
 * Called by the policies of worker processes, in the supervisor. State: what workers share with
 * their watcher. Must not know why a time is limited. */
#include "children.h"
#include "process.h"

#include <signal.h>

struct nest__watch *nest__watch;

void nest__watch_wake(void) {
    nest__supervisor_wake();
}

int nest__wake_due(bool woken) {
    int timeout;
    if (!nest__look_due(woken, &timeout)) {
        return timeout;
    }
    struct nest__look look = nest__look_begin();
    for (uint32_t worker = 0; worker < nest__children_seen(); worker++) {
        pid_t pid = nest__child(worker)->pid; /* of one that has ended, what it wished for counts */
        if (nest__look_at(&look, &nest__process_report(worker)->limit) && pid != 0) {
            kill(pid, SIGURG);
        }
    }
    return nest__look_end(&look);
}
