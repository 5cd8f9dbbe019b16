/* script.c: `$block` in a script: the block runs in a later step of the loop, and the action
 * continues after it in another step, as with a helper thread. No state. */
#include "../../seam.h"

#include <errno.h>

static int blocks_nothing(void *arg) {
    (void)arg;
    return 0;
}

/* Other actions run meanwhile. */
static void blocks_step(nest_session *s) {
    struct nest__action *action = nest__action_take();
    nest__action_put(action); /* on its way out it is still the one that runs */
    struct nest__wait wait = {.what = NEST__WORK, .chan = &s->c0, .work = blocks_nothing};
    int error = errno;
    (void)nest__wait(s, &wait);
    errno = error;
    nest__action_put(action);
}

void nest_block_begin(nest_session *s) {
    blocks_step(s);
}

void nest_block_end(nest_session *s) {
    blocks_step(s);
}

int *nest_errno(void) {
    return &errno;
}
