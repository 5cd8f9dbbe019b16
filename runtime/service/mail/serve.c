/* serve.c: the mailbox of a process of a server with loops.
 *
 * Called at a join point. No state. Must not know sessions. */
#include "../../workers/dispatchers.h"
#include "../../workers/mailbox.h"
#include "../../workers/supervisor.h"
#include "mail.h"

/* The service process, which only sends, has no report. */
int nest__mail_serve(void) {
    uint32_t workers = nest__dispatchers_most();
    bool serves = nest__report_own(0) != NULL || nest__supervisor() == 0;
    nest__mailbox_begin(serves ? nest__serial % workers : workers);
    return 0;
}
