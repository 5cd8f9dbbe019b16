/* carrier.h: whose scratch nest__carrier() answers with, where a loop runs all.
 *
 * blocks.c: by thread, as actions move to helpers. null/carrier.c: there is one. */
#ifndef NEST_CARRIER_H
#define NEST_CARRIER_H

#include "../seam.h"

void nest__carrier_enter(struct nest__carrier *); /* of this thread from here on; the caller's */
void nest__carrier_leave(void);                   /* a helper thread ends: frees what it made */
void nest__blocks_end(void); /* the loop has ended: frees what it kept for blocks */

#endif
