/* branches.h: which branches of actions have run; only servers that `nest test` builds count them.
 */
#ifndef NEST_SERVICE_BRANCHES_H
#define NEST_SERVICE_BRANCHES_H

#include "../../seam.h"

int nest__branches_start(void);

/* Called by actions where a branch begins. Returns 1, so that it can be part of a condition. */
int nest__branch(unsigned number);

#endif
