/* opened.c, without files: no action has one open. No state. */
#include "../engine/engine.h"

void nest__files_acted(nest_session *s) {
    (void)s;
}

uint64_t nest__files_memory(void) {
    return 0;
}
