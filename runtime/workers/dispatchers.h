/* dispatchers.h: what the files share that serve clients by several loops. */
#ifndef NEST_WORKERS_DISPATCHERS_H
#define NEST_WORKERS_DISPATCHERS_H

#include "../loop/share.h"
#include "shared.h"

/* -- dispatchers.c */
/* How many loops there are to be: the option, or one for each processor, at most nest__share_most.
 */
uint32_t nest__dispatchers(void);
/* Numbers of workers are below this one. HUP may change the option up to the number of processors,
 * or to its value at the start. */
uint32_t nest__dispatchers_most(void);
/* At the preparation of the worker model. 0, or -errno and said why. */
int nest__dispatchers_prepare(void);

/* -- share.c */
/* Before workers are forked, for at most that many at a time. 0 or -errno. */
int nest__share_prepare(uint32_t most);
uint32_t nest__share_most(void);
/* In a worker. */
void nest__share_begin(uint32_t worker);
/* In the supervisor: the worker has died, and its clients are gone. */
void nest__share_end(uint32_t worker);

#endif
