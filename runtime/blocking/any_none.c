/* any_none.c: no action waits for several channels at once.
 *
 * Called as any.h says. No state. */
#include "any.h"

int nest__any_wait_here(nest_session *s, const struct nest__wait *wait) {
    (void)s, (void)wait;
    return 0;
}
