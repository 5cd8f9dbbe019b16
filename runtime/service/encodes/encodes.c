/* encodes.c: the table of channels that are encoded, and their memory.
 *
 * Called at join points. No state. Must not know how bytes are encoded. What a function of the
 * specification allocates is not counted. */
#include "encodes.h"
#include "../../channel/encodes.h"
#include "../../platform/platform.h"

#include <string.h>

int nest__encodes_start(void) {
    int error = nest__encodes_prepare();
    if (error < 0) {
        nest__say("cannot start: %%encode: %s", strerror(-error));
    }
    return error;
}

struct nest__need nest__encodes_need(void) {
    uint64_t most = nest__encodes_most();
    return (struct nest__need){"encodes", NULL, most, most};
}
