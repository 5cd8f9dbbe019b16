/* fiber.c: an action that waits keeps its stack, while the loop continues on another stack.
 *
 * Called by workers/loops.c. State: the parked loops of this process (one worker). Must not know
 * sessions or the poller.
 *
 * The loop keeps no data on its stack, so it can run on any stack. When a wait ends, the loop
 * switches to the action's stack. The frames below the action on that stack belong to the loop too,
 * so when the action returns, the loop continues there. The stack that ran the loop in the meantime
 * is parked, and continues as the loop at the next wait. */
#include "fiber.h"

#include <errno.h>

static struct nest__context *fiber_parked;
static struct nest__context fiber_outside; /* the caller of nest__fiber_run */
static struct nest__context fiber_first;   /* the stack on which the loop starts */
static void (*fiber_loop)(void);

static void fiber_entry(void) {
    struct nest__context here;
    nest__context_entered();
    fiber_loop();
    nest__context_switch(&here, &fiber_outside); /* does not return */
}

/* Prepares a stack that will run the loop. Returns 0 or -ENOMEM. */
static int fiber_make(struct nest__context *fresh) {
    void *stack;
    if (nest__stack_take(&stack) < 0 ||
        nest__context_make(fresh, stack, NEST__STACK_SIZE, fiber_entry) != 0) {
        return -ENOMEM;
    }
    return 0;
}

int nest__fiber_prepare(void (*loop)(void)) {
    fiber_loop = loop;
    return fiber_make(&fiber_first);
}

void nest__fiber_run(void) {
    nest__context_switch(&fiber_outside, &fiber_first);
}

int nest__fiber_ready(void) {
    static struct nest__context fresh; /* free again after the switch to it */
    if (fiber_parked == NULL) {
        if (fiber_make(&fresh) < 0) {
            return -ENOMEM;
        }
        fresh.next = NULL;
        fiber_parked = &fresh;
    }
    return 0;
}

void nest__fiber_leave(struct nest__context *here) {
    struct nest__context *loop = fiber_parked;
    fiber_parked = loop->next;
    nest__context_switch(here, loop);
}

void nest__fiber_resume(struct nest__context *action) {
    struct nest__context here;
    here.next = fiber_parked;
    fiber_parked = &here;
    nest__context_switch(&here, action);
}
