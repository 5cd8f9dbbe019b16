/* encodes.h: %encode: the join points of channel/encodes.c. */
#ifndef NEST_SERVICE_ENCODES_H
#define NEST_SERVICE_ENCODES_H

#include "../../seam.h"

int nest__encodes_start(void);
struct nest__need nest__encodes_need(void);

#endif
