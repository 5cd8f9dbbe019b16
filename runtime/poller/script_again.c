/* script_again.c: whether a client waits where one was accepted just now (option priorities).
 *
 * Called by loop/ready_classes.c. No state. A try in vain would use up the number of a
 * conversation.
 */
#include "poller.h"
#include "script.h"

bool nest__poller_again(void) {
    return script_accepts();
}
