/* lists.h: $fileList: what a folder holds, until the action that asked returns. */
#ifndef NEST_SERVICE_LISTS_H
#define NEST_SERVICE_LISTS_H

#include "../../seam.h"

struct nest__listed;

/* scope: action */
struct nest__lists_state {
    struct nest__listed *first; /* lists that the running action has made, the latest first */
};

struct nest__need nest__lists_need(void);
void nest__lists_leave(nest_session *);

#endif
