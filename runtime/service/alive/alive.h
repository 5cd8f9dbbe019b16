/* alive.h: which connections exist, by their ids, wherever they are served: for $alive and $send.
 */
#ifndef NEST_SERVICE_ALIVE_H
#define NEST_SERVICE_ALIVE_H

#include "../../seam.h"

/* Where the connection with this id is served: the worker's serial, and its session there. False:
 * it has ended, or there was none. */
bool nest__alive_find(uint64_t id, uint16_t *serial, nest__ref *);

/* -- join points */
int nest__alive_start(void);
void nest__alive_reaped(uint32_t worker);
void nest__alive_open(nest_session *);
void nest__alive_end(nest_session *);
void nest__alive_release(nest_session *);

#endif
