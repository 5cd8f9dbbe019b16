/* service_process_none.c: no part of this server has work of its own: there is no such process.
 *
 * Stands before supervisor.c, in place of service_process.h. No state, and no symbol. */
#ifndef NEST_WORKERS_SERVICE_PROCESS_H
#define NEST_WORKERS_SERVICE_PROCESS_H

#include "../seam.h"

#include <sys/types.h>

static inline int nest__service_process_mind(void) {
    return -1;
}
static inline bool nest__service_process_reaped(pid_t pid, int status) {
    (void)pid, (void)status;
    return false;
}
static inline bool nest__service_process_runs(void) {
    return false;
}
static inline void nest__service_process_end(void) {
}

#endif
