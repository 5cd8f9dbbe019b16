/* loops.c: the life of a process whose one loop serves all sessions.
 *
 * Called by main. State: the process's slab of sessions and variables, its one worker. Must not
 * know the language, nor what the loop does. */
#include "../engine/engine.h" /* the size of a worker, nothing else */
#include "../fiber/fiber.h"
#include "../loop/loop.h"
#include "../platform/platform.h"
#include "../service/processors/processors.h"
#include "context.h"
#include "dispatchers.h"
#include "supervisor.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

static uint8_t *loops_vars;
static size_t loops_stride;
static struct nest__worker *loops_worker;

void *nest__vars(const nest_session *s) {
    return loops_stride == 0 ? NULL : loops_vars + s->self.slot * loops_stride;
}

static void loops_run(void) {
    while (!nest__loop_done()) {
        nest_session *s = nest__loop_step();
        if (s != NULL) {
            nest__fiber_resume(&((struct nest__waiter *)s->waiter)->context);
        }
    }
    nest__on_tick(); /* what services have put off: no sleep comes that would call it */
}

/* -- the life of the process */

static void *loops_map(size_t size) {
    void *p = mmap(NULL, size > 0 ? size : 1, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

unsigned nest__worker_needs(struct nest__need needs[NEST__NEEDS]) {
    needs[0] = (struct nest__need){"stack of an action", NULL, NEST__STACK_SIZE, 0};
    return 1 + nest__poller_needs(needs + 1);
}

uint32_t nest__worker_threads(void) {
    return 1;
}

uint32_t nest__worker_processes(void) {
    return 1;
}

int nest__workers_prepare(void) {
    uint32_t most;
    int error = nest__poller_prepare(&most);
    if (error < 0) {
        return error;
    }
    if (nest__dispatchers_prepare() != 0) {
        return -ENOMEM;
    }
    loops_stride = (nest__spec_vars_size + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
    nest_session *slab = loops_map(most * sizeof *slab);
    loops_worker = loops_map(sizeof *loops_worker);
    loops_vars = loops_stride > SIZE_MAX / most ? NULL : loops_map(most * loops_stride);
    if (slab == NULL || loops_worker == NULL || loops_vars == NULL ||
        nest__worker_reserve(loops_worker) < 0 || nest__worker_begin(loops_worker) < 0) {
        nest__say("cannot start: no memory for %u clients with %zu bytes of variables each; lower "
                  "maxClients",
                  (unsigned)most, nest__spec_vars_size);
        return -ENOMEM;
    }
    nest__slots_begin(slab, most);
    nest__worker_enter(loops_worker);
    return 0;
}

static int loops_serve(void) {
    int error = nest__loop_start();
    if (error < 0) {
        return 1;
    }
    if (nest__fiber_prepare(loops_run) <
        0) { /* here: ucontext's switch brings today's signal mask */
        nest__say("cannot start: no memory for stacks");
        return 1;
    }
    nest__crash_install("server", nest__crash_consequence());
    nest__crash_keep_thread(true);
    nest__fiber_run();
    nest__crash_keep_thread(false);
    int status = nest__loop_status();
    if (status != NEST__ABANDONED) {
        if (NEST__PROCESSORS) {
            nest__processors_end();
        }
        nest__blocks_end();
        nest__helpers_end();
        nest__worker_clear(loops_worker);
    }
    return status;
}

int nest__serve_alone(void) {
    return loops_serve();
}

int nest__serve_worker(uint32_t worker, uint32_t life, const sigset_t *mask) {
    (void)life, (void)mask;
    nest__share_begin(worker);
    return loops_serve();
}

int nest__workers_run(void) {
    return nest__supervise();
}
