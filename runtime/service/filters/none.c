/* none.c: a server without filters has no such children. */
#include "filters.h"

void nest__filters_open(nest_session *s) {
    (void)s;
}

bool nest__filters_reaped(pid_t pid, int status) {
    (void)pid, (void)status;
    return false;
}
