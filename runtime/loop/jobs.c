/* jobs.c: the jobs that wait for a thread: first in, first out.
 *
 * Called by helpers.c, poller/script_jobs.c and service/processors. State: the lists, of the
 * process's one loop. Must not know what a job does. */
#include "jobs.h"

/* scope: process */
static struct jobs_list { struct nest__job *first, **last; } jobs_waiting[NEST__JOBS_LISTS];

void nest__jobs_add(enum nest__jobs which, struct nest__job *job) {
    struct jobs_list *list = &jobs_waiting[which];
    job->next = NULL;
    if (list->first == NULL) {
        list->first = job;
    } else {
        *list->last = job;
    }
    list->last = &job->next;
}

struct nest__job *nest__jobs_take(enum nest__jobs which) {
    struct jobs_list *list = &jobs_waiting[which];
    struct nest__job *job = list->first;
    if (job != NULL) {
        list->first = job->next;
    }
    return job;
}
