/* worker.c, of loops whose actions stay on their thread: one worker.
 *
 * Called by workers/loops.c, loop/helpers.c and the engine. State: the process's one worker. */
#include "../workers/context.h"

static struct nest__worker *worker_only_one;

void nest__worker_enter(struct nest__worker *worker) {
    worker_only_one = worker;
}

void nest__worker_leave(void) {
}

struct nest__worker *nest__worker(void) {
    return worker_only_one;
}

void nest__blocks_end(void) {
}
