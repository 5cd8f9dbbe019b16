/* intake.c: newcomers are taken while there is room for them.
 *
 * See intake.h. State: of this process's loop. When descriptors run short listeners rest until a
 * session is released; where memory is short that is no help, and they rest their time. Must not
 * know where connections come from, nor how listeners are armed. */
#include "intake.h"
#include "../crew/loops.h"

#include <errno.h>

enum { INTAKE_REST_MS = 1000 };

struct nest__intake nest__intake;
static _Atomic uint32_t intake_said;

void nest__intake_open(bool on) {
    struct nest__intake *intake = &nest__intake;
    if (on == intake->open || (on && (intake->scarce || intake->done))) {
        return;
    }
    intake->open = on;
    int error = nest__io_arm(on);
    if (on && error < 0) { /* all or none */
        nest__intake_rest(error);
    }
}

void nest__intake_rest(int error) {
    nest__intake_open(false);
    nest__io_rest(INTAKE_REST_MS);
    if (error == -ENOMEM || error == -ENOBUFS) {
        nest__intake.scarce = true;
    }
    nest__scarce(&intake_said, error);
}

void nest__intake_rested(void) {
    nest__intake.scarce = false;
    nest__intake_open(true);
}

nest_session *nest__intake_take(struct nest__listener *listener, struct nest__arrival *arrival,
                                int *error) {
    nest_session *s = nest__slot_take();
    *error = 0;
    if (s == NULL) {
        nest__intake_open(false);
        return NULL;
    }
    *error = nest__intake.open ? nest__take(listener, arrival, true) : -EAGAIN;
    if (*error == 0) {
        return s;
    }
    nest__slot_give(s, false);
    if (*error == -EMFILE || *error == -ENFILE || *error == -ENOMEM || *error == -ENOBUFS) {
        nest__intake_rest(*error);
    }
    return NULL;
}
