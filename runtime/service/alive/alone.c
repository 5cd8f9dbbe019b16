/* alone.c: which connections exist, in a server without sockets.
 *
 * Called by actions, by the service `send` and at join points. State: the id of the connection in
 * each slot. */
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

void nest__alive_release(nest_session *s) {
    (void)s;
}

bool nest__alive_find(uint64_t id, uint16_t *serial, nest__ref *to) {
    *serial = nest__serial;
    to->slot = (uint32_t)((id - 1) % nest__config.max_clients);
    to->gen = (uint32_t)((id - 1) / nest__config.max_clients);
    uint64_t *own = id == 0 ? NULL : alive_own(to->slot);
    return own != NULL && *own == id;
}

bool nest_alive(uint64_t id) {
    uint16_t serial;
    nest__ref to;
    return nest__alive_find(id, &serial, &to);
}
