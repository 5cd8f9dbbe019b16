/* alone.c: the lock of %shared in a server without sockets: one process runs one action at a time,
 * and nothing waits inside the lock, so nobody has to be kept out. State: whether it is held, to
 * find actions that misuse it. */
#include "region.h"

static bool alone_held; /* scope: process */

bool nest__region_holds(void) {
    return alone_held;
}

void nest__region_lock_fresh(void *page) {
    (void)page;
}

void nest_lock_begin(bool asks) {
    (void)asks;
    if (alone_held) {
        nest__region_misused("enters $lock inside");
    }
    alone_held = true;
}

void nest_lock_end(void) {
    alone_held = false;
}

void nest__region_wait(nest_session *s) {
    (void)s;
    if (alone_held) {
        nest__region_misused("waits inside");
    }
}

bool nest_recovered(void) {
    return false;
}
