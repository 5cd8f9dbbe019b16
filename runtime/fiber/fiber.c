/* fiber.c: an action that waits keeps its stack, and the loop goes on on another.
 *
 * Called by workers/loops.c. State: the parked loops of this process (one worker). Must not know
 * sessions or io.
 *
 * The loop keeps nothing on its stack, so any stack can run it. When a wait ends, the loop switches
 * to the action's stack, whose frames below the action are a loop's as well: when the action
 * returns, it simply is the loop again. The stack that ran the loop meanwhile is parked, and goes
 * on as the loop at the next wait. */
#include "fiber.h"

#include <errno.h>

static struct nest__context *fiber_parked;
static struct nest__context fiber_outside; /* who entered */
static struct nest__context fiber_first;   /* the stack that the loop begins on */
static void (*fiber_loop)(void);

static void fiber_entry(void) {
    struct nest__context here;
    nest__context_entered();
    fiber_loop();
    nest__context_switch(&here, &fiber_outside); /* for good */
}

/* A stack that will run the loop. 0 or -ENOMEM. */
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
    static struct nest__context fresh; /* used up when the switch to it is done */
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
