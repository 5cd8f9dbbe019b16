/* deaths.c: whether a worker that has ended has left places of clients behind.
 *
 * Called at a join point, in the supervisor. No state. Must not know which places. */
#include "../../workers/shared.h"
#include "per_address.h"

/* A worker that ended in order has given its places back. */
void nest__per_address_reaped(uint32_t worker) {
    struct nest__told told = nest__report_read(worker);
    if (!told.over || told.spoiled || told.ended[NEST_OPEN] > 0) {
        nest__networks_died();
    }
}
