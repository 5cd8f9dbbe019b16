/* jobs_classes.c: the jobs that wait for a thread, by the classes of their clients (option
 * priorities).
 *
 * Called by helpers.c, poller/script_jobs.c and service/processors. State: for each kind of threads
 * a list for each class, of the process's one loop. A job of a service, which has no client, is of
 * the first class: clients of every class may wait for it. Must not know what a job does. */
#include "classes.h"
#include "jobs.h"

/* scope: process */
static struct jobs_lists {
    struct nest__classes classes;
    struct nest__job *first[NEST__CLASSES], **last[NEST__CLASSES];
} jobs_waiting[NEST__JOBS_LISTS];

void nest__jobs_add(enum nest__jobs which, struct nest__job *job) {
    struct jobs_lists *lists = &jobs_waiting[which];
    uint32_t rank = job->session != NULL ? nest__priority_entry(job->session)->rank : 0;
    job->next = NULL;
    if (lists->first[rank] == NULL) {
        lists->first[rank] = job;
    } else {
        *lists->last[rank] = job;
    }
    lists->last[rank] = &job->next;
    nest__classes_add(&lists->classes, rank);
}

struct nest__job *nest__jobs_take(enum nest__jobs which) {
    struct jobs_lists *lists = &jobs_waiting[which];
    uint32_t rank = nest__classes_next(&lists->classes);
    if (rank == NEST__CLASSES) {
        return NULL;
    }
    struct nest__job *job = lists->first[rank];
    lists->first[rank] = job->next;
    lists->classes.waiting[rank]--;
    nest__classes_charge(&lists->classes, rank, 1);
    return job;
}
