/* carrier.c, of loops whose actions stay on their thread: one carrier.
 *
 * Called by crew/loops.c, crew/helpers.c and the engine. State: the process's one carrier. */
#include "../crew/carrier.h"

static struct nest__carrier *carrier_only;

void nest__carrier_enter(struct nest__carrier *carrier) {
    carrier_only = carrier;
}

void nest__carrier_leave(void) {
}

struct nest__carrier *nest__carrier(void) {
    return carrier_only;
}

void nest__blocks_end(void) {
}
