/* timeout.h: $timeout: an idle limit for one connection. */
#ifndef NEST_SERVICE_TIMEOUT_H
#define NEST_SERVICE_TIMEOUT_H

#include "../../seam.h"

struct nest__need nest__timeout_need(void);
void nest__timeout_open(nest_session *);

#endif
