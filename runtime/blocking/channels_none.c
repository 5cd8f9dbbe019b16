/* channels_none.c: a connection has one channel.
 *
 * Called by blocking.c as channels.h says. No state. */
#include "channels.h"

bool nest__several_wait(nest_session *s, const struct nest__wait *wait, int *result) {
    (void)s, (void)wait, (void)result;
    return false;
}

void nest__several_attend(nest_session *s, uint32_t deadline) {
    (void)s, (void)deadline;
}

bool nest__several_end(nest_session *s) {
    (void)s;
    return false;
}

void nest__several_lost(nest_session *s) {
    (void)s;
}
