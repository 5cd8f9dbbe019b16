/* context.h: which worker nest__worker() returns in models with a loop.
 *
 * context.c: there is one. service/blocks/blocks.c and service/processors/worker.c: one for each
 * thread, since actions move to other threads. */
#ifndef NEST_WORKERS_CONTEXT_H
#define NEST_WORKERS_CONTEXT_H

#include "../seam.h"

void nest__worker_enter(struct nest__worker *); /* of this thread from here on; the caller's */
void nest__worker_leave(void);                  /* a helper thread ends: frees what it made */
void nest__blocks_end(void); /* the loop has ended: frees what it kept for $block */

#endif
