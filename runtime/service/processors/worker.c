/* worker.c: the worker of each thread, in servers without `$block`, whose file has this otherwise.
 *
 * Called by workers/loops.c, loop/helpers.c, processors.c and the engine. State: for each thread,
 * its worker. */
#include "../../workers/context.h"

static _Thread_local struct nest__worker *worker_here; /* scope: thread */

/* An action changes its thread while functions run that may have used this address before. The
 * empty assembly prevents compilers from reusing the result of an earlier call. */
__attribute__((noinline)) struct nest__worker *nest__worker(void) {
    __asm__ volatile("");
    return worker_here;
}

__attribute__((noinline)) void nest__worker_enter(struct nest__worker *worker) {
    worker_here = worker;
}

void nest__worker_leave(void) {
}

void nest__blocks_end(void) {
}
