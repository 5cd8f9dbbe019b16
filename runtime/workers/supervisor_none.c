/* supervisor_none.c: no supervisor: the main process serves.
 *
 * Called by workers/loops.c and script. State: the counts, of the process. */
#include "supervisor.h"

static struct nest__counts supervisor_counts;
struct nest__counts *nest__counts = &supervisor_counts;

int nest__supervisor_prepare(void) {
    return 0;
}

int nest__supervise(int (*serve)(void)) {
    return serve();
}

bool nest__supervises(void) {
    return false;
}

bool nest__heeds(int signal) {
    (void)signal;
    return true;
}

uint32_t nest__lives(void) {
    return 0;
}

const char *nest__crash_consequence(void) {
    return "the server ends";
}
