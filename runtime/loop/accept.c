/* accept.c: newcomers are taken while there is room for them.
 *
 * See accept.h. State: of this process's loop. When descriptors run short listeners rest
 * until a session is released; where memory is short that is no help, and they rest their time.
 * Must not know where connections come from, nor how listeners are armed. */
#include "accept.h"
#include "../workers/loops.h"

#include <errno.h>

enum { ACCEPT_PAUSE_MS = 1000 };

struct nest__accept nest__accept;
static _Atomic uint32_t accept_said;

void nest__accept_open(bool on) {
    struct nest__accept *accept = &nest__accept;
    if (on == accept->open || (on && (accept->scarce || accept->done))) {
        return;
    }
    accept->open = on;
    int error = nest__io_arm(on);
    if (on && error < 0) { /* all or none */
        nest__accept_pause(error);
    }
}

void nest__accept_pause(int error) {
    nest__accept_open(false);
    nest__io_rest(ACCEPT_PAUSE_MS);
    if (error == -ENOMEM || error == -ENOBUFS) {
        nest__accept.scarce = true;
    }
    nest__scarce(&accept_said, error);
}

void nest__accept_resume(void) {
    nest__accept.scarce = false;
    nest__accept_open(true);
}

nest_session *nest__accept_take(struct nest__listener *listener, struct nest__arrival *arrival,
                                int *error) {
    nest_session *s = nest__slot_take();
    *error = 0;
    if (s == NULL) {
        nest__accept_open(false);
        return NULL;
    }
    *error = nest__accept.open ? nest__take(listener, arrival, true) : -EAGAIN;
    if (*error == 0) {
        return s;
    }
    nest__slot_give(s, false);
    if (*error == -EMFILE || *error == -ENFILE || *error == -ENOMEM || *error == -ENOBUFS) {
        nest__accept_pause(*error);
    }
    return NULL;
}
