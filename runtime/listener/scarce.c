/* scarce.c: reports that no connection can be accepted for lack of a resource.
 *
 * Called by the code that accepts connections. The caller owns the state, in memory that all
 * workers share. */
#include "../platform/platform.h"

#include <stdatomic.h>
#include <string.h>

enum { SCARCE_SILENCE_MS = 60 * 1000 };

void nest__scarce(_Atomic uint32_t *said, int error) {
    uint32_t now = nest__now(), before = atomic_load(said);
    if ((before == 0 || nest__reached(nest__after(before, SCARCE_SILENCE_MS), now)) &&
        atomic_compare_exchange_strong(said, &before, nest__after(now, 0))) {
        nest__say("new clients must wait: %s; lower maxClients, or raise the "
                  "limit",
                  strerror(-error));
    }
}
