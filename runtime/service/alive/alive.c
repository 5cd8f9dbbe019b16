/* alive.c: which connections exist, in servers with workers.
 *
 * Called by actions, by the service `send` and at join points. State: in the report of each worker,
 * the id of the connection in each of its slots, 0 for none; others read it. A worker may write
 * anything there, so that an id is no proof: who sends to a connection finds out by its mailbox. */
#include "alive.h"
#include "../../platform/platform.h"
#include "../../workers/children.h"

static size_t alive_at; /* scope: server; in a report */

/* Of one worker process. */
static uint32_t alive_slots(void) {
    return nest__policy_many ? nest__config.max_clients : 1;
}

int nest__alive_start(void) {
    alive_at = nest__report_reserve(alive_slots() * sizeof(uint64_t));
    return 0;
}

static _Atomic uint64_t *alive_ids(uint32_t worker) {
    return (void *)((char *)nest__report_page(worker) + alive_at);
}

static void alive_note(const nest_session *s, uint64_t id) {
    _Atomic uint64_t *own = nest__report_own(alive_at);
    if (own != NULL) {
        atomic_store(&own[s->self.slot % alive_slots()], id);
    }
}

void nest__alive_open(nest_session *s) {
    alive_note(s, nest_id(s));
}

void nest__alive_end(nest_session *s) {
    alive_note(s, 0);
}

/* Also of a session that has no end, because an action has ended its thread. */
void nest__alive_release(nest_session *s) {
    alive_note(s, 0);
}

/* The worker has died, perhaps before its connections ended; no successor has cleared its report
 * yet. */
void nest__alive_reaped(uint32_t worker) {
    _Atomic uint64_t *ids = alive_ids(worker);
    for (uint32_t slot = 0; slot < alive_slots(); slot++) {
        if (atomic_load_explicit(&ids[slot], memory_order_relaxed) != 0) {
            atomic_store(&ids[slot], 0);
        }
    }
}

/* A worker that serves one client at a time has the place that its client's slot says. */
bool nest__alive_find(uint64_t id, uint16_t *serial, nest__ref *to) {
    uint64_t here = id & ((UINT64_C(1) << NEST__ID_SERIAL) - 1);
    if (here == 0 || nest__orders_page == NULL) {
        return false;
    }
    *serial = (uint16_t)(id >> NEST__ID_SERIAL);
    to->slot = (uint32_t)((here - 1) % nest__config.max_clients);
    to->gen = (uint32_t)((here - 1) / nest__config.max_clients);
    uint32_t worker = nest__policy_many ? *serial % nest__children_most() : to->slot;
    return worker < nest__children_most() &&
           atomic_load(&alive_ids(worker)[to->slot % alive_slots()]) == id;
}

bool nest_alive(uint64_t id) {
    uint16_t serial;
    nest__ref to;
    return nest__alive_find(id, &serial, &to);
}
