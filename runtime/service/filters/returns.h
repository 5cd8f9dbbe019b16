/* returns.h: the filter persist gets each connection back when its message is answered.
 *
 * Included by the engine and by the I/O side, in every server; the functions exist in servers with
 * NEST__RETURNS. */
#ifndef NEST_SERVICE_RETURNS_H
#define NEST_SERVICE_RETURNS_H

#include "../../seam.h"

/* Whether the filter waits for this connection. Makes a system call: ask when a message is
 * answered and nothing is unread. */
bool nest__filters_wait(const nest_session *);
/* How much of `room` the next receive may fill. The first ones take the message that the filter has
 * seen and nothing behind it, because the filter looks at what follows. */
uint32_t nest__filters_room(const nest_session *, uint32_t room);
/* A receive has brought n bytes. */
void nest__filters_received(const nest_session *, uint32_t n);

/* Its connection goes back: it is closed here, but is not over. */
static inline bool nest__goes_back(const nest_session *s) {
    return NEST__RETURNS && s->reason == NEST_RETURNED;
}

#endif
