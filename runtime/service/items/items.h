/* items.h: $count, $item and $itemLen: the repetitions of an element, valid until the action ends.
 */
#ifndef NEST_SERVICE_ITEMS_H
#define NEST_SERVICE_ITEMS_H

#include "../../seam.h"

struct nest__items;

/* scope: action */
struct nest__items_state {
    struct nest__items *first; /* elements whose repetitions are known; memory of the arena */
};

struct nest__need nest__items_need(void);
void nest__items_leave(nest_session *);

#endif
