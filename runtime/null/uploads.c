/* uploads.c, without $fileCreate: nothing is kept for it. No state. */
#include "../engine/engine.h"

uint64_t nest__uploads_memory(void) {
    return 0;
}
