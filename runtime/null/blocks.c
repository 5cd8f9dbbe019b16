/* blocks.c, where actions stay on their thread: a block is code like any other. No state. */
#include "../seam.h"

#include <errno.h>

void nest_block_begin(nest_session *s) {
    (void)s;
}

void nest_block_end(nest_session *s) {
    (void)s;
}

int *nest_errno(void) {
    return &errno;
}
