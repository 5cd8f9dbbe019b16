/* blocking.h: io that waits right where it is, for crews whose carriers have one connection each.
 */
#ifndef NEST_IO_BLOCKING_H
#define NEST_IO_BLOCKING_H

#include "../seam.h"

/* What a stop asks of every connection that is served. The crew raises it, never lowers it, and
 * after that shuts the connections' sockets down (for reading; for CUT both ways): calls that are
 * blocked return, and calls not yet made return at once, so none of them can miss it. */
enum nest__stop_phase {
    NEST__GO_ON,
    NEST__DRAIN /* what was replied is delivered */,
    NEST__CUT_OFF
};
extern _Atomic int nest__stop; /* lock-free: also set by signal handlers */

/* Serves the connection to its end, but does not close the socket: that, and nest__released, is the
 * caller's. `buffer` has input_buffer bytes and may be used by others afterwards. */
void nest__serve(nest_session *, const struct nest__arrival *, uint8_t *buffer);

#endif
