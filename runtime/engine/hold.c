/* hold.c: takes bytes that a session has received, without looking at them (option priorities).
 *
 * Called by loop/ready_classes.c. No state. Must not know when they are looked at. */
#include "engine.h"

#include <errno.h>

int nest__hold(nest_session *s, struct nest__window *window) {
    uint32_t n = window->n;
    if (!window->lent) { /* received behind the rest */
        s->work->rest_n += n;
        window->n = 0;
    } else if (nest__own(s, window) < 0) {
        return -ENOMEM;
    }
    nest__on_input(s, n);
    nest__clock_bytes(s);
    return 0;
}
