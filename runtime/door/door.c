/* door.c: an action that waits keeps its stack, and the loop goes on on another.
 *
 * Called by crew/loops.c. State: the parked loops of this process (one carrier). Must not know
 * sessions or io.
 *
 * The loop keeps nothing on its stack, so any stack can run it. When a wait ends, the loop switches
 * to the action's stack, whose frames below the action are a loop's as well: when the action
 * returns, it simply is the loop again. The stack that ran the loop meanwhile is parked, and goes
 * on as the loop at the next wait. */
#include "context.h"

#include <errno.h>

static struct nest__context *door_parked;
static void (*door_loop)(void);

static void door_entry(void) {
    nest__context_entered();
    door_loop(); /* never returns */
}

/* `loop`: what a fresh stack runs. */
static void nest__door_open(void (*loop)(void)) {
    door_loop = loop;
}

/* Leaves the caller in *here, on its stack, and runs the loop on another until somebody calls
 * nest__door_resume(here). 0; -ENOMEM: there is no other stack. */
static int nest__door_leave(struct nest__context *here) {
    struct nest__context fresh, *loop = door_parked;
    void *stack;
    if (loop != NULL) {
        door_parked = loop->next;
    } else {
        if (nest__stack_take(&stack) < 0 ||
            nest__context_make(&fresh, stack, NEST__STACK_SIZE, door_entry) != 0) {
            return -ENOMEM;
        }
        loop = &fresh; /* used up when the switch is done */
    }
    nest__context_switch(here, loop);
    return 0;
}

/* Parks this loop and goes on with an action that waited. Returns when a later wait needs a loop.
 * `home`: this is the stack that the process began on. */
static void nest__door_resume(struct nest__context *action, bool home) {
    struct nest__context here;
    here.home = home;
    here.next = door_parked;
    door_parked = &here;
    nest__context_switch(&here, action);
}

/* When no action waits any more: goes on with the loop on the stack that the process began on. */
static void nest__door_home(void) {
    struct nest__context here, **at = &door_parked;
    while (*at != NULL && !(*at)->home) {
        at = &(*at)->next;
    }
    struct nest__context *home = *at;
    *at = home->next;
    nest__context_switch(&here, home);
}
