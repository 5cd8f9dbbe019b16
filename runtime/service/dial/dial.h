/* dial.h: $dial and $listen: connections that actions open. */
#ifndef NEST_SERVICE_DIAL_H
#define NEST_SERVICE_DIAL_H

#include "../../seam.h"

enum { NEST__DIAL_TEXT = 200 };

/* scope: action */
struct nest__dial_state {
    char error[NEST__DIAL_TEXT]; /* why the last one failed; "" if it did not */
};

int nest__dial_start(void);
struct nest__need nest__dial_need(void);

#endif
