/* workers.c: %worker where workers are processes that a supervisor forks, or one that inetd
 * started. No state. */
#include "../../workers/supervisor.h"
#include "beginning.h"

int nest__beginning_start(void) {
    return 0;
}

/* The service process, which serves no clients, has no report. */
int nest__beginning_serve(void) {
    if (nest__report_own(0) != NULL || nest__supervisor() == 0) {
        nest__spec_beginning();
    }
    return 0;
}
