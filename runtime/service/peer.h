/* peer.h: `$peer()` is used: a client's address stays known, even after a reset.
 *
 * Join point: open. null/peer.c is its other form. */
#ifndef NEST_FEATURE_PEER_H
#define NEST_FEATURE_PEER_H

#include "../seam.h"

void nest__peer_open(nest_session *); /* nest__on_open calls it */

#endif
