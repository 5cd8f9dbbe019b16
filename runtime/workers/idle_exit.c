/* idle_exit.c: looks for clients, spread over the time that a server may be without.
 *
 * Called by policies of processes and workers/thread.c. State: the caller's. Must not know who
 * serves.
 */
#include "idle_exit.h"
#include "../platform/platform.h"

enum { IDLE_EXIT_CHECKS = 4 };

bool nest__idle_exit_due(struct nest__idle_exit *idle, uint32_t limit, bool busy, uint64_t ended,
                         int *timeout) {
    uint64_t now;
    if (limit == 0) {
        return false;
    }
    now = nest__clock_ms();
    if (now >= idle->next) {
        idle->quiet = busy || ended != idle->ended ? 0 : idle->quiet + 1;
        idle->ended = ended;
        idle->next = now + limit / IDLE_EXIT_CHECKS + 1;
    }
    *timeout = nest__sooner(*timeout, (int)(idle->next - now));
    return idle->quiet > IDLE_EXIT_CHECKS;
}

uint64_t nest__ended_all(void) {
    uint64_t ended = 0;
    for (int reason = 0; reason < NEST_REASONS; reason++) {
        ended += atomic_load(&nest__ended[reason]);
    }
    return ended;
}
