/* none.c: `$block` in models in which an action may block: it stays where it is. No state. */
#include "blocks.h"

#include <errno.h>

void nest_block_begin(nest_session *s) {
    nest__block_stay(s);
}

void nest_block_end(nest_session *s) {
    nest__block_stayed(s);
}

int *nest_errno(void) {
    return &errno;
}
