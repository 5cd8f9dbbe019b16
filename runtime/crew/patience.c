/* patience.c: looks for clients, spread over the time that a server may be without.
 *
 * Called by crew/process.c and crew/thread.c. State: the caller's. Must not know who serves. */
#include "patience.h"
#include "../platform/platform.h"

enum { PATIENCE_LOOKS = 4 };

bool nest__patience_over(struct nest__patience *patience, uint32_t limit, bool busy, uint64_t ended,
                         int *timeout) {
    uint64_t now;
    if (limit == 0) {
        return false;
    }
    now = nest__clock_ms();
    if (now >= patience->next) {
        patience->quiet = busy || ended != patience->ended ? 0 : patience->quiet + 1;
        patience->ended = ended;
        patience->next = now + limit / PATIENCE_LOOKS + 1;
    }
    *timeout = nest__sooner(*timeout, (int)(patience->next - now));
    return patience->quiet > PATIENCE_LOOKS;
}
