/* loops.c: how many workers may have rings, where each worker is a loop.
 *
 * Called by debug.c. No state. Must not know rings. */
#include "../../workers/dispatchers.h"
#include "recorder.h"

uint32_t nest__recorder_workers(void) {
    return nest__dispatchers_most();
}
