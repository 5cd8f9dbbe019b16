/* context.h: whose scratch nest__worker() answers with, where a loop runs all.
 *
 * blocks.c: by thread, as actions move to helpers. null/context.c: there is one. */
#ifndef NEST_WORKERS_CONTEXT_H
#define NEST_WORKERS_CONTEXT_H

#include "../seam.h"

void nest__worker_enter(struct nest__worker *); /* of this thread from here on; the caller's */
void nest__worker_leave(void);                  /* a helper thread ends: frees what it made */
void nest__blocks_end(void); /* the loop has ended: frees what it kept for blocks */

#endif
