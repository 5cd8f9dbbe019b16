/* system.h: what every poller of real descriptors needs of its process. */
#ifndef NEST_POLLER_SYSTEM_H
#define NEST_POLLER_SYSTEM_H

#include "../loop/helpers.h"

/* Descriptors for all clients: how many there can be at once; 0, and said why. */
uint32_t nest__system_prepare(void);
/* From here on TERM, INT and HUP make *signals readable; accept never blocks; a child that an
 * action forks holds no connection open. Helpers are prepared. 0 or -errno. */
int nest__system_start(int *signals);
/* What has come: as the result of NEST__OP_SIGNAL. */
int64_t nest__signals_take(void);

#endif
