/* alone.c: $alive in a server without sockets.
 *
 * Called by actions and at join points. State: the id of the connection in each slot. */
#include "../../platform/platform.h"
#include "alive.h"

static _Atomic(void *) alive_slab; /* scope: process; an id for each slot */

static uint64_t *alive_own(uint32_t slot) {
    uint64_t *ids = nest__slab(&alive_slab, sizeof *ids);
    return ids == NULL ? NULL : &ids[slot];
}

int nest__alive_start(void) {
    return 0;
}

void nest__alive_reaped(uint32_t worker) {
    (void)worker;
}

static void alive_note(nest_session *s, uint64_t value) {
    uint64_t *own = alive_own(s->self.slot);
    if (own != NULL) {
        *own = value;
    }
}

void nest__alive_open(nest_session *s) {
    alive_note(s, nest_id(s));
}

void nest__alive_end(nest_session *s) {
    alive_note(s, 0);
}

bool nest_alive(uint64_t id) {
    uint64_t here = (id & ((UINT64_C(1) << NEST__ID_SERIAL) - 1)) - 1;
    uint64_t *own = id == 0 ? NULL : alive_own((uint32_t)(here % nest__config.max_clients));
    return own != NULL && *own == id;
}
