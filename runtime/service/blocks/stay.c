/* stay.c: `$block` on a thread that may block: its code runs in place, as a wait of the action.
 *
 * State: how many blocks are open, and whether a stop had begun before the first. */
#include "blocks.h"

static _Thread_local unsigned stay_open; /* scope: thread */
static _Thread_local bool stay_stopping; /* scope: thread */

__attribute__((noinline)) void nest__block_stay(nest_session *s) {
    if (stay_open++ == 0) {
        nest__on_wait(s);
        stay_stopping = nest__stopping();
    }
}

/* As after a wait: if a stop began meanwhile, the connection ends after this message. */
__attribute__((noinline)) void nest__block_stayed(nest_session *s) {
    if (--stay_open > 0) {
        return;
    }
    nest__on_resume(s);
    if (!stay_stopping && nest__stopping()) {
        (void)nest__event(s, NEST__EVENT_DRAIN);
    }
}
