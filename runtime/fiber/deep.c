/* deep.c: the stack of a loop's process on which libraries run; see channel/deep.h.
 *
 * Called by channel/tls.c, on the loop's thread. State: the stack, and the call that runs on it.
 * Must not know what is called. */
#include "../channel/deep.h"
#include "fiber.h"

#include <errno.h>
#include <stddef.h>

static struct {
    struct nest__context there, caller;
    int64_t (*work)(void *);
    void *arg;
    int64_t result;
    void *stack;
} deep; /* scope: process, which has one loop */

static void deep_entry(void) {
    nest__context_entered();
    for (;;) {
        deep.result = deep.work(deep.arg);
        nest__context_switch(&deep.there, &deep.caller);
    }
}

int nest__deep_prepare(void) {
    if (deep.stack != NULL) {
        return 0;
    }
    int error = nest__stack_take(&deep.stack);
    if (error == 0 &&
        nest__context_make(&deep.there, deep.stack, NEST__STACK_SIZE, deep_entry) != 0) {
        error = -ENOMEM;
    }
    return error;
}

int64_t nest__deep(int64_t (*work)(void *), void *arg) {
    deep.work = work;
    deep.arg = arg;
    nest__context_switch(&deep.caller, &deep.there);
    return deep.result;
}
