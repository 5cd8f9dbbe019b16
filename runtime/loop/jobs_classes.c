/* jobs_classes.c: the jobs that wait for a helper thread, by the classes of their clients (option
 * priorities).
 *
 * Called by helpers.c, or by poller/script_jobs.c. State: a list for each class, of the process's
 * one loop. A job of a service, which has no client, is of the first class: clients of every class
 * may wait for it. Must not know what a job does. */
#include "classes.h"
#include "jobs.h"

/* scope: process */
static struct {
    struct nest__classes classes;
    struct nest__job *first[NEST__CLASSES], **last[NEST__CLASSES];
} jobs_waiting;

void nest__jobs_add(struct nest__job *job) {
    uint32_t rank = job->session != NULL ? nest__priority_entry(job->session)->rank : 0;
    job->next = NULL;
    if (jobs_waiting.first[rank] == NULL) {
        jobs_waiting.first[rank] = job;
    } else {
        *jobs_waiting.last[rank] = job;
    }
    jobs_waiting.last[rank] = &job->next;
    nest__classes_add(&jobs_waiting.classes, rank);
}

struct nest__job *nest__jobs_take(void) {
    uint32_t rank = nest__classes_next(&jobs_waiting.classes);
    if (rank == NEST__CLASSES) {
        return NULL;
    }
    struct nest__job *job = jobs_waiting.first[rank];
    jobs_waiting.first[rank] = job->next;
    jobs_waiting.classes.waiting[rank]--;
    nest__classes_charge(&jobs_waiting.classes, rank, 1);
    return job;
}
