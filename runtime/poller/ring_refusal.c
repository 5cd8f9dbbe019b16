/* ring_refusal.c: whether workers will get a ring, and if not, why.
 *
 * Called by uring.c before there are workers. No state. Must not know what a ring does. */
#include "../platform/platform.h"
#include "../service/user/user.h"
#include "ring.h"

#include <errno.h>
#include <string.h>

/* It is no worker: code that runs when one begins does not run here. */
static int refusal_try(void) {
    int error = nest__user_serve();
    return error == 0 ? nest__ring_open() : error;
}

const char *nest__ring_refusal(void) {
    bool began;
    int error = nest__try_in_child(refusal_try, &began); /* with the rights of workers */
    switch (error) {
    case 0:
        return NULL;
    case -ENOSYS:
        return "this kernel has none";
    case -EINVAL:
        return "it needs Linux 6.1";
    case -EPERM:
    case -EACCES:
        return "it is not permitted (see kernel.io_uring_disabled, and the rules of a container)";
    case -ENOMEM:
        return "too little memory may be locked (ulimit -l, LimitMEMLOCK)";
    default:
        return strerror(-error);
    }
}
