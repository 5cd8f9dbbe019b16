/* alive.c: $alive in servers with workers.
 *
 * Called by actions and at join points. State: in the report of each worker, which others can read,
 * the id of the connection in each slot. Must not know how connections are served. */
#include "alive.h"
#include "../../platform/platform.h"
#include "../../workers/children.h"

/* scope: server */
static struct {
    size_t at;      /* of the ids, in a worker's report */
    uint32_t slots; /* of a worker */
} alive;

/* A worker that serves one client at a time has the place that its client's slot says. */
static uint32_t alive_worker(uint64_t id) {
    uint64_t here = (id & ((UINT64_C(1) << NEST__ID_SERIAL) - 1)) - 1;
    return nest__policy_many ? (uint32_t)(id >> NEST__ID_SERIAL) % nest__children_most()
                             : (uint32_t)(here % nest__config.max_clients);
}

static uint32_t alive_slot(uint64_t id) {
    uint64_t here = (id & ((UINT64_C(1) << NEST__ID_SERIAL) - 1)) - 1;
    return nest__policy_many ? (uint32_t)(here % nest__config.max_clients) : 0;
}

static _Atomic uint64_t *alive_ids(uint32_t worker) {
    return (void *)((char *)nest__report_page(worker) + alive.at);
}

int nest__alive_start(void) {
    alive.slots = nest__policy_many ? nest__config.max_clients : 1;
    alive.at = nest__report_reserve(alive.slots * sizeof(_Atomic uint64_t));
    return 0;
}

static void alive_note(nest_session *s, uint64_t value) {
    _Atomic uint64_t *own = nest__report_own(alive.at);
    if (own != NULL) {
        atomic_store(&own[alive_slot(nest_id(s))], value);
    }
}

void nest__alive_open(nest_session *s) {
    alive_note(s, nest_id(s));
}

void nest__alive_end(nest_session *s) {
    alive_note(s, 0);
}

/* Its connections are gone, although no successor has cleared the report yet. */
void nest__alive_reaped(uint32_t worker) {
    for (uint32_t slot = 0; slot < alive.slots; slot++) {
        if (atomic_load_explicit(&alive_ids(worker)[slot], memory_order_relaxed) != 0) {
            atomic_store(&alive_ids(worker)[slot], 0);
        }
    }
}

bool nest_alive(uint64_t id) {
    if (id == 0 || nest__orders_page == NULL) {
        return false;
    }
    uint32_t worker = alive_worker(id);
    return worker < nest__children_most() && atomic_load(&alive_ids(worker)[alive_slot(id)]) == id;
}
