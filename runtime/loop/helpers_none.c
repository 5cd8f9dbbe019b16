/* helpers_none.c: no service gives work to helper threads.
 *
 * Called by workers/loops.c and by the poller. No state. */
#include "helpers.h"

#include <errno.h>

int nest__helpers_prepare(void) {
    return 0;
}

int nest__helpers_fd(void) {
    return -1;
}

int nest__help(struct nest__job *job) {
    (void)job;
    return -EAGAIN;
}

struct nest__job *nest__helped(void) {
    return NULL;
}

void nest__helpers_watch(_Atomic uint32_t *place) {
    (void)place;
}

uint32_t nest__helpers_queued(void) {
    return 0;
}

void nest__helpers_end(void) {
}
