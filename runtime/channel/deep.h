/* deep.h: a stack for libraries that need much of it.
 *
 * In loops, actions run on stacks that stay theirs while they wait. What a library has written
 * there would stay in memory, once for each waiting action. So it runs on a stack of its own, which
 * the loop has once (fiber/deep.c). Elsewhere a thread has one stack (deep_none.c). */
#ifndef NEST_CHANNEL_DEEP_H
#define NEST_CHANNEL_DEEP_H

#include <stdint.h>

/* Before the first call in this process. 0 or -ENOMEM. */
int nest__deep_prepare(void);
/* Calls the function, which must not wait nor call this again. Returns its result. */
int64_t nest__deep(int64_t (*work)(void *), void *arg);

#endif
