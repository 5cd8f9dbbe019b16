/* peer.h: $peer: a client's address is known even after a reset. */
#ifndef NEST_SERVICE_PEER_H
#define NEST_SERVICE_PEER_H

#include "../../seam.h"

struct nest__need nest__peer_need(void);
void nest__peer_open(nest_session *);

#endif
