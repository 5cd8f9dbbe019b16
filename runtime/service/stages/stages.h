/* stages.h: %decode: the join points of channel/stages.c. */
#ifndef NEST_SERVICE_STAGES_H
#define NEST_SERVICE_STAGES_H

#include "../../seam.h"

int nest__stages_start(void);
struct nest__need nest__stages_need(void);

#endif
