/* alive.h: $alive: whether a connection still exists, wherever it is served. */
#ifndef NEST_SERVICE_ALIVE_H
#define NEST_SERVICE_ALIVE_H

#include "../../seam.h"

int nest__alive_start(void);
void nest__alive_reaped(uint32_t worker);
void nest__alive_open(nest_session *);
void nest__alive_end(nest_session *);

#endif
