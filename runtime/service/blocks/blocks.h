/* blocks.h: `$block` where the action is already. Included by service/blocks/ alone. */
#ifndef NEST_SERVICE_BLOCKS_H
#define NEST_SERVICE_BLOCKS_H

#include "../../seam.h"

/* -- stay.c: the begin and the end of a block on the thread of its action */
void nest__block_stay(nest_session *);
void nest__block_stayed(nest_session *);

#endif
