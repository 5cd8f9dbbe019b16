/* none.c: the server listens itself. No state. */
#include "inetd.h"

int nest__inetd_listen(void) {
    return 1;
}

void nest__inetd_close(void) {
}

bool nest__take_only(struct nest__arrival *arrival, bool nonblocking) {
    (void)arrival, (void)nonblocking;
    return false;
}

uint32_t nest__listen_idle_exit(void) {
    return 0;
}
