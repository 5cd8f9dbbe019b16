/* script.c: scripts have no second connections to encrypt.
 *
 * Called by actions. No state. */
#include "secured.h"

#include <errno.h>

int nest__secured_start(void) {
    return 0;
}

struct nest__need nest__secured_need(void) {
    return (struct nest__need){"encryption of second connections", NULL, 0, 0};
}

int nest_start_tls_on(nest_session *s, int handle, const char *name) {
    (void)s, (void)handle, (void)name;
    errno = EBADF;
    return -1;
}
