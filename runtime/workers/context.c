/* context.c: the worker context of a loop whose actions stay on its thread.
 *
 * Called by workers/loops.c, loop/helpers.c and the engine. State: the process's one worker. */
#include "context.h"

static struct nest__worker *context_worker;

void nest__worker_enter(struct nest__worker *worker) {
    context_worker = worker;
}

void nest__worker_leave(void) {
}

struct nest__worker *nest__worker(void) {
    return context_worker;
}

void nest__blocks_end(void) {
}
