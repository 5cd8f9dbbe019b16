/* many_none.c: no action waits for several channels at once.
 *
 * Called as many.h says. No state. */
#include "many.h"

struct nest__member *nest__member_of(const nest_session *s, const struct nest__chan *chan) {
    (void)s, (void)chan;
    return NULL;
}

bool nest__many_ended(nest_session *s, const struct nest__wait *wait) {
    (void)s, (void)wait;
    return false;
}

bool nest__many_await(nest_session *s, const struct nest__wait *wait) {
    (void)s, (void)wait;
    return true;
}

nest_session *nest__many_completed(nest_session *s, struct nest__member *member,
                                   const struct nest__completion *done) {
    (void)s, (void)member, (void)done;
    return NULL;
}

uint32_t nest__many_space(struct nest__member *member, uint8_t **p) {
    (void)member, (void)p;
    return 0;
}
