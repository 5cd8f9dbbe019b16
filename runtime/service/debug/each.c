/* each.c: how many workers may have rings, where workers are processes or threads of clients.
 *
 * Called by debug.c. No state. Must not know rings. */
#include "recorder.h"

uint32_t nest__recorder_workers(void) {
    return nest__worker_processes();
}
