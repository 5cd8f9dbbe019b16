/* ids.c: which connections exist, by their numbers.
 *
 * Called at join points and by send.c. State: in the report of each worker, a number for each of
 * its slots, 0 for none; others read it. A worker may write anything there, so the numbers decide
 * only whether a message is sent, and the receiver's mailbox checks it again. Must not know
 * messages. */
#include "../../platform/platform.h"
#include "../../workers/children.h"
#include "send.h"

static size_t ids_at; /* scope: process; in a report */

/* Of one worker process. */
static uint32_t ids_slots(void) {
    return nest__policy_many ? nest__config.max_clients : 1;
}

int nest__send_start(void) {
    ids_at = nest__report_reserve(ids_slots() * sizeof(uint64_t));
    return 0;
}

static _Atomic uint64_t *ids_of(uint32_t worker) {
    return (void *)((char *)nest__report_page(worker) + ids_at);
}

static void ids_set(const nest_session *s, uint64_t id) {
    _Atomic uint64_t *own = nest__report_own(ids_at);
    if (own != NULL) {
        atomic_store(&own[s->self.slot % ids_slots()], id);
    }
}

void nest__send_open(nest_session *s) {
    ids_set(s, nest_id(s));
}

void nest__send_end(nest_session *s) {
    ids_set(s, 0);
}

/* The worker has died, perhaps before its connections ended. */
void nest__send_reaped(uint32_t worker) {
    _Atomic uint64_t *ids = ids_of(worker);
    for (uint32_t slot = 0; slot < ids_slots(); slot++) {
        if (atomic_load(&ids[slot]) != 0) {
            atomic_store(&ids[slot], 0);
        }
    }
}

bool nest__send_find(uint64_t id, uint16_t *serial, nest__ref *to) {
    uint64_t here = id & ((UINT64_C(1) << NEST__ID_SERIAL) - 1);
    if (here == 0) {
        return false;
    }
    *serial = (uint16_t)(id >> NEST__ID_SERIAL);
    to->slot = (uint32_t)((here - 1) % nest__config.max_clients);
    to->gen = (uint32_t)((here - 1) / nest__config.max_clients);
    uint32_t worker = nest__policy_many ? *serial % nest__children_most() : to->slot;
    return atomic_load(&ids_of(worker)[to->slot % ids_slots()]) == id;
}
