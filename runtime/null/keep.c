/* keep.c, without the feature: no action keeps memory. nest_keep is not there. */
#include "../engine/engine.h"

uint64_t nest__kept_most(void) {
    return 0;
}
