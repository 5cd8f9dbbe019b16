/* loops.c: one loop runs all sessions; an action that waits does not stop it.
 *
 * Called by main, and by the engine in a wait. State: the process's slab of sessions and
 * variables, its one worker. Must not know the language, nor how bytes are read. */
#include "loops.h"
#include "../engine/engine.h" /* the size of a worker, nothing else */
#include "../fiber/fiber.h"
#include "../platform/platform.h"
#include "supervisor.h"
#include "context.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

static nest_session *loops_slab;
static uint8_t *loops_vars;
static size_t loops_stride;
static struct nest__worker *loops_worker;
static uint32_t loops_slots, loops_ever, loops_taken, loops_free = NEST__NO_SLOT;
static uint32_t loops_ready = NEST__NO_SLOT, loops_ready_last, loops_ready_count;
_Atomic uint64_t *nest__ended;

void *nest__vars(const nest_session *s) {
    return loops_stride == 0 ? NULL : loops_vars + s->self.slot * loops_stride;
}

/* -- slots */

nest_session *nest__slot_at(uint32_t slot) {
    return &loops_slab[slot];
}

uint32_t nest__slots_ever(void) {
    return loops_ever;
}

uint32_t nest__slots_taken(void) {
    return loops_taken;
}

void nest__slots_limit(uint32_t most) {
    loops_slots = most;
}

nest_session *nest__slot_take(void) {
    nest_session *s;
    if (loops_free != NEST__NO_SLOT) {
        s = &loops_slab[loops_free];
        loops_free = s->next;
    } else if (loops_ever < loops_slots) {
        s = &loops_slab[loops_ever];
        s->self = (nest__ref){loops_ever++, nest__lives() * NEST__LIFE};
    } else {
        return NULL;
    }
    loops_taken++;
    return s;
}

void nest__slot_give(nest_session *s, bool used) {
    s->phase = NEST__FREE;
    s->self.gen += used;
    s->next = loops_free;
    loops_free = s->self.slot;
    loops_taken--;
}

/* -- the ready list: first in, first out */

void nest__ready_add(nest_session *s) {
    s->flags |= NEST__READY;
    s->next = NEST__NO_SLOT;
    if (loops_ready == NEST__NO_SLOT) {
        loops_ready = s->self.slot;
    } else {
        loops_slab[loops_ready_last].next = s->self.slot;
    }
    loops_ready_last = s->self.slot;
    loops_ready_count++;
}

nest_session *nest__ready_take(void) {
    if (loops_ready == NEST__NO_SLOT) {
        return NULL;
    }
    nest_session *s = &loops_slab[loops_ready];
    loops_ready = s->next;
    loops_ready_count--;
    s->flags &= (uint8_t)~NEST__READY;
    return s;
}

/* Of one that has no turn coming after all; it may not even be in the list. */
static void loops_ready_drop(nest_session *s) {
    uint32_t before = NEST__NO_SLOT;
    if ((s->flags & NEST__READY) == 0) {
        return;
    }
    for (uint32_t at = loops_ready; at != s->self.slot; at = loops_slab[at].next) {
        before = at;
    }
    if (before == NEST__NO_SLOT) {
        loops_ready = s->next;
    } else {
        loops_slab[before].next = s->next;
    }
    if (loops_ready_last == s->self.slot) {
        loops_ready_last = before;
    }
    loops_ready_count--;
    s->flags &= (uint8_t)~NEST__READY;
}

uint32_t nest__ready_count(void) {
    return loops_ready_count;
}

/* -- the fiber switch */

/* Before an action leaves: it depends on nothing of the loop's, and there is a stack for the loop.
 */
static bool loops_free_to_leave(nest_session *s) {
    return nest__own(s, NULL) == 0 && nest__fiber_ready() == 0;
}

bool nest__loops_may_leave(nest_session *s, struct nest__waiter *waiter) {
    bool work = waiter->wait->what == NEST__WORK;
    if (work && !loops_free_to_leave(s)) {
        waiter->result = -ENOMEM;
        return false;
    }
    waiter->result = nest__push(s, waiter->wait->chan);
    if (waiter->result < 0 && !work) { /* who works notices afterwards */
        return false;
    }
    if (!nest__io_await(s, waiter)) {
        return false;
    }
    if (!loops_free_to_leave(s)) {
        loops_ready_drop(s);
        waiter->result = -ENOMEM;
        return false;
    }
    return true;
}

void nest__loops_leave(nest_session *s, struct nest__waiter *waiter) {
    s->waiter = waiter;
    s->flags |= NEST__WAITING;
    nest__fiber_leave(&waiter->context);
}

void nest__loops_came(nest_session *s) {
    s->flags &= (uint8_t)~NEST__WAITING;
    s->waiter = NULL;
}

int nest__wait(nest_session *s, const struct nest__wait *wait) {
    struct nest__waiter here = {.wait = wait};
    if (wait->what == NEST__WORK && !loops_free_to_leave(s)) {
        return wait->work(wait->arg); /* it is done in any case */
    }
    if (nest__loops_may_leave(s, &here)) {
        nest__loops_leave(s, &here);
        nest__loops_came(s);
    }
    return here.result;
}

static void loops_run(void) {
    while (!nest__io_done()) {
        nest_session *s = nest__io_step();
        if (s != NULL) {
            nest__fiber_resume(&((struct nest__waiter *)s->waiter)->context);
        }
    }
}

/* -- the life of the process */

static void *loops_map(size_t size) {
    void *p = mmap(NULL, size > 0 ? size : 1, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

unsigned nest__worker_needs(struct nest__need needs[NEST__NEEDS]) {
    needs[0] = (struct nest__need){"stack of an action", NULL, NEST__STACK_SIZE, 0};
    return 1;
}

uint32_t nest__worker_processes(void) {
    return 1;
}

int nest__workers_prepare(void) {
    if (nest__supervisor_prepare() != 0) {
        return -ENOMEM;
    }
    nest__ended = nest__counts->ended;
    loops_slots = nest__io_prepare();
    if (loops_slots == 0) {
        return -EMFILE;
    }
    loops_stride = (nest__spec_vars_size + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
    loops_slab = loops_map(loops_slots * sizeof *loops_slab);
    loops_worker = loops_map(sizeof *loops_worker);
    loops_vars =
        loops_stride > SIZE_MAX / loops_slots ? NULL : loops_map(loops_slots * loops_stride);
    if (loops_slab == NULL || loops_worker == NULL || loops_vars == NULL ||
        nest__worker_reserve(loops_worker) < 0) {
        nest__say("cannot start: no memory for %u clients with %zu bytes of variables each; lower "
                  "maxClients",
                  (unsigned)loops_slots, nest__spec_vars_size);
        return -ENOMEM;
    }
    nest__worker_enter(loops_worker);
    return 0;
}

static int loops_serve(void) {
    int error = nest__io_start();
    if (error < 0) {
        return 1;
    }
    if (nest__fiber_prepare(loops_run) <
        0) { /* here: ucontext's switch brings today's signal mask */
        nest__say("cannot start: no memory for stacks");
        return 1;
    }
    nest__crash_install("server", nest__crash_consequence());
    nest__fiber_run();
    int status = nest__io_status();
    if (status != NEST__ABANDONED) {
        nest__helpers_end();
        nest__blocks_end();
        nest__worker_clear(loops_worker);
    }
    return status;
}

int nest__workers_run(void) {
    return nest__supervise(loops_serve);
}
