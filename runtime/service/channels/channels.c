/* channels.c: the memory and the descriptors of a client's further channels.
 *
 * Called at join points. No state. An action that opens a channel may fail for want of a
 * descriptor, and $relay copies then, so that descriptors are wished for, and not demanded. */
#include "channels.h"
#include "../../channel/pool.h"
#include "../../channel/splice.h"

struct nest__need nest__channels_need(void) {
    uint64_t each = sizeof(struct nest__further) + nest__queue_most(nest__config.output_buffer);
    return (struct nest__need){"further channels", "outputBuffer", NEST__FURTHER * each, 0};
}

uint32_t nest__channels_descriptors(bool most) {
    return most ? NEST__FURTHER + NEST__SPLICES * NEST__SPLICE_ENDS : 0;
}
