/* arm_none.c: listeners that are polled for themselves need nothing else. */
#include "listener.h"

int nest__listen_arm(bool on) {
    (void)on;
    return 0;
}
