/* any.h: how a worker that blocks waits for any of several channels (NEST__ANY).
 *
 * Servers without the feature `dial` use any_none.c: none of their actions waits so. */
#ifndef NEST_BLOCKING_ANY_H
#define NEST_BLOCKING_ANY_H

#include "../seam.h"

/* 0, -ECONNRESET (the client is gone), -ETIMEDOUT or -ECANCELED. */
int nest__any_wait_here(nest_session *, const struct nest__wait *);

#endif
