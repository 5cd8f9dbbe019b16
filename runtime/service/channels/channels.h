/* channels.h: the budget of further channels (channel/pool.h). */
#ifndef NEST_SERVICE_CHANNELS_H
#define NEST_SERVICE_CHANNELS_H

#include "../../seam.h"

struct nest__need nest__channels_need(void);
uint32_t nest__channels_descriptors(bool most);

#endif
