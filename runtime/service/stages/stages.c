/* stages.c: the table of channels with stages, and their memory.
 *
 * Called at join points. No state. Must not know how bytes are decoded. What a function of the
 * specification allocates is not counted. */
#include "stages.h"
#include "../../channel/stages.h"
#include "../../platform/platform.h"

#include <string.h>

int nest__stages_start(void) {
    int error = nest__stages_prepare();
    if (error < 0) {
        nest__say("cannot start: %%decode: %s", strerror(-error));
    }
    return error;
}

struct nest__need nest__stages_need(void) {
    uint64_t most = nest__stages_most();
    return (struct nest__need){"stages", NULL, most, most};
}
