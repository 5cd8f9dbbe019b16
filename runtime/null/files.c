/* files.c, without the feature: nothing to open at the start.
 *
 * No state. nest_file_open and its kin are not there: a C helper that calls them does not link. */
#include "../seam.h"

int nest__files_open(void) {
    return 0;
}

void nest__files_close(void) {
}

void nest__files_lost(long process) {
    (void)process;
}
