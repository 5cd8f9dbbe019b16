/* overrun.h: option actionTimeout: a process whose action runs for too long is ended.
 *
 * Time in which an action waits does not count. Workers note which action runs; the supervisor
 * looks at the notes four times in each actionTimeout. */
#ifndef NEST_SERVICE_OVERRUN_H
#define NEST_SERVICE_OVERRUN_H

#include "../../seam.h"

/* -- in the process that starts workers; 0 or -ENOMEM */
int nest__overrun_start(void);
/* -- in the supervisor: ms until it is to be called again; 0: it need not be */
unsigned nest__overrun_mind(void);
/* -- in a worker */
int nest__overrun_serve(void);
void nest__overrun_act(nest_session *);
void nest__overrun_wait(nest_session *);
void nest__overrun_resume(nest_session *);
void nest__overrun_acted(nest_session *, uint64_t taken);

#endif
