/* lists.c, without $fileList: no action has one. No state. */
#include "../engine/engine.h"

uint64_t nest__lists_memory(void) {
    return 0;
}
