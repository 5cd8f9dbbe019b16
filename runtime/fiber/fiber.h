/* fiber.h: stacks for actions that wait, and the switch between such a stack and the loop.
 *
 * Used by workers/loops.c, on the loop's thread. */
#ifndef NEST_FIBER_H
#define NEST_FIBER_H

#include "../platform/context.h"

enum { NEST__STACK_SIZE = 256 * 1024 }; /* as much as a thread of threadServer has */

/* -- stacks.c */

/* A stack of NEST__STACK_SIZE bytes whose lowest page is a guard. 0 or -ENOMEM. */
int nest__stack_take(void **stack);

/* -- fiber.c */

/* Makes the stack on which `loop` begins. Every new stack calls `loop`, which keeps nothing there.
 * 0 or -ENOMEM. */
int nest__fiber_prepare(void (*loop)(void));
/* Runs the loop until it returns. It may return on any stack, when no action waits any more. */
void nest__fiber_run(void);
/* Makes sure that there is a stack on which the loop can go on. 0 or -ENOMEM. */
int nest__fiber_ready(void);
/* Saves the caller in *here, on its stack, and runs the loop on another one until
 * nest__fiber_resume(here) is called. nest__fiber_ready must have returned 0. */
void nest__fiber_leave(struct nest__context *here);
/* Parks this loop and resumes an action that waited. Returns when a later wait needs a loop. */
void nest__fiber_resume(struct nest__context *action);

#endif
