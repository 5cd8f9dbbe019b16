/* timeout.c: idle limits that actions set, each for its own connection.
 *
 * Called at join points, by actions to set a limit, and by the engine to read it. State: a slab of
 * limits, one for each slot, made at first use. Must not know when a connection is idle. */
#include "timeout.h"
#include "../../platform/platform.h"

#include <errno.h>
#include <stdatomic.h>

/* An entry of the slab is 0 for idleTimeout, because new pages are zero, otherwise the limit
 * plus 1.
 */

/* scope: process, shared by its threads; set once. A slot's limit is its session's own. */
static _Atomic(void *) timeout_slab;

void nest__timeout_open(nest_session *s) {
    uint32_t *slab = atomic_load(&timeout_slab);
    if (slab != NULL) {
        slab[s->self.slot] = 0;
    }
}

void nest_timeout(nest_session *s, uint32_t ms) {
    uint32_t *slab = nest__slab(&timeout_slab, sizeof *slab);
    if (slab == NULL) { /* a connection must not continue with another limit than requested */
        s->flags |= NEST__CUT;
        s->c0.state |= NEST__CHAN_GONE;
        errno = ENOMEM;
        return;
    }
    slab[s->self.slot] = (ms < NEST__LONGEST ? ms : NEST__LONGEST) + 1;
}

uint32_t nest__idle_limit(const nest_session *s) {
    const uint32_t *slab = atomic_load_explicit(&timeout_slab, memory_order_acquire);
    uint32_t limit = slab == NULL ? 0 : slab[s->self.slot];
    return limit == 0 ? nest__config.idle_timeout : limit - 1;
}

struct nest__need nest__timeout_need(void) {
    return (struct nest__need){"its own idle limit", NULL, sizeof(uint32_t), 0};
}
