/* jobs.c: the jobs that wait for a helper thread: first in, first out.
 *
 * Called by helpers.c, or by poller/script_jobs.c. State: the list, of the process's one loop. Must
 * not know what a job does. */
#include "jobs.h"

static struct { struct nest__job *first, **last; } jobs_waiting; /* scope: process */

void nest__jobs_add(struct nest__job *job) {
    job->next = NULL;
    if (jobs_waiting.first == NULL) {
        jobs_waiting.first = job;
    } else {
        *jobs_waiting.last = job;
    }
    jobs_waiting.last = &job->next;
}

struct nest__job *nest__jobs_take(void) {
    struct nest__job *job = jobs_waiting.first;
    if (job != NULL) {
        jobs_waiting.first = job->next;
    }
    return job;
}
