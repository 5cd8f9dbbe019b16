/* none.c: `$block` in models in which an action may block: its code runs in place, as a wait of the
 * action. State: how many blocks are open, and whether a stop had begun before the first. */
#include "../../seam.h"

#include <errno.h>

static _Thread_local unsigned blocks_open; /* scope: thread */
static _Thread_local bool blocks_stopping; /* scope: thread */

void nest_block_begin(nest_session *s) {
    if (blocks_open++ == 0) {
        nest__on_wait(s);
        blocks_stopping = nest__stopping();
    }
}

/* As after a wait: if a stop began meanwhile, the connection ends after this message. */
void nest_block_end(nest_session *s) {
    if (--blocks_open > 0) {
        return;
    }
    nest__on_resume(s);
    if (!blocks_stopping && nest__stopping()) {
        (void)nest__event(s, NEST__EVENT_DRAIN);
    }
}

int *nest_errno(void) {
    return &errno;
}
