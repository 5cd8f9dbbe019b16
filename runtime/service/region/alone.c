/* alone.c: the lock of %shared in a server without sockets: one process runs one action at a time,
 * and nothing waits inside the lock, so nobody has to be kept out. State: whether it is held, to
 * find actions that misuse it. */
#include "region.h"
#include "../../platform/platform.h"

#include <stdlib.h>

static bool alone_held; /* scope: process */

static void alone_free(const char *how) {
    if (alone_held) {
        nest__say("an action %s inside $lock", how);
        abort();
    }
}

void nest__region_lock_fresh(void *page) {
    (void)page;
}

void nest_lock_begin(bool asks) {
    (void)asks;
    alone_free("enters $lock");
    alone_held = true;
}

void nest_lock_end(void) {
    alone_held = false;
}

void nest__region_wait(nest_session *s) {
    (void)s;
    alone_free("waits");
}

bool nest_recovered(void) {
    return false;
}
