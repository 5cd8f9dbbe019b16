/* again.c: whether a client may wait where one was accepted just now (option priorities).
 *
 * Called by loop/ready_classes.c. No state. The system tells that only by another try. */
#include "poller.h"

bool nest__poller_again(void) {
    return true;
}
