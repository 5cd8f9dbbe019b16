/* supervisor_none.c: no supervisor: the main process serves.
 *
 * Called by main and the worker model. State: the counts of connections. */
#include "supervisor.h"

static _Atomic uint64_t supervisor_ended[NEST_REASONS], supervisor_unread[NEST_REASONS];
_Atomic uint64_t *nest__ended = supervisor_ended;
_Atomic uint64_t *nest__reported = supervisor_unread;
uint16_t nest__serial;
static uint64_t supervisor_cut;

uint64_t nest__cut(void) {
    return supervisor_cut;
}

void nest__cut_add(uint64_t clients) {
    supervisor_cut += clients;
}

int nest__supervisor_prepare(uint32_t workers) {
    (void)workers;
    return 0;
}

int nest__supervise(void) {
    return nest__serve_alone();
}

bool nest__supervises(void) {
    return false;
}

const char *nest__crash_consequence(void) {
    return "the server ends";
}
