/* none.c: `$block` where the action stays on its thread: the code in it just runs. State: whether a
 * stop had begun before the block. */
#include "../../seam.h"

#include <errno.h>

static _Thread_local bool blocks_stopping; /* scope: thread */

void nest_block_begin(nest_session *s) {
    (void)s;
    blocks_stopping = nest__stopping();
}

/* As a wait does: a stop that came meanwhile ends the connection with this message. */
void nest_block_end(nest_session *s) {
    if (!blocks_stopping && nest__stopping()) {
        (void)nest__event(s, NEST__EVENT_DRAIN);
    }
}

int *nest_errno(void) {
    return &errno;
}
