/* timeout.h: `$timeout` is used: a connection may have an idle limit of its own.
 *
 * Join point: open. null/timeout.c is its other form. */
#ifndef NEST_FEATURE_TIMEOUT_H
#define NEST_FEATURE_TIMEOUT_H

#include "../seam.h"

void nest__timeout_open(nest_session *); /* nest__on_open calls it */

#endif
