/* pool_none.c: sessions have channel 0 and no other.
 *
 * Called as pool.h says, in servers without further channels. No state. */
#include "pool.h"

struct nest__further *nest__further_of(const nest_session *s, const struct nest__chan *chan) {
    (void)s, (void)chan;
    return NULL;
}

struct nest__further *nest__further_at(uint32_t index) {
    (void)index;
    return NULL;
}

struct nest__further *nest__further_timed(uint32_t number) {
    (void)number;
    return NULL;
}

bool nest__further_is(unsigned channel) {
    (void)channel;
    return false;
}
