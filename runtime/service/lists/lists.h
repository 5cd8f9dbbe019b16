/* lists.h: $fileList: the contents of a directory, valid until the action ends. */
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
