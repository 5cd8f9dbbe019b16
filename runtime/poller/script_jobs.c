/* script_jobs.c: work that may block, done in a later step of the loop: loop/helpers.h in virtual
 * time.
 *
 * Called by the files of loop/. State: the jobs of this process. At most as many are under way as
 * there are helpers; each takes the virtual time that the script says. Must not know what the work
 * is. */
#include "../loop/helpers.h"
#include "../loop/jobs.h"
#include "script.h"

#include <errno.h>

struct jobs_entry {
    struct nest__job *job;
    uint32_t due;
};
static struct jobs_entry jobs[SCRIPT_CLIENTS + 1]; /* that have begun, in this order */
static uint32_t jobs_busy, jobs_queued, jobs_ms;   /* how many have begun; how many wait */

static void jobs_start(void) {
    uint32_t helpers = nest__config.helpers > 0 ? nest__config.helpers : 1;
    struct nest__job *job;
    while (jobs_busy < helpers && (job = nest__jobs_take(NEST__JOBS_HELPERS)) != NULL) {
        jobs[jobs_busy++] = (struct jobs_entry){job, nest__after(script_now, jobs_ms)};
        jobs_queued--;
    }
}

void script_helpers(uint32_t ms) {
    jobs_ms = ms;
}

int nest__helpers_prepare(void) {
    return 0;
}

int nest__helpers_fd(void) {
    return -1;
}

int nest__help(struct nest__job *job) {
    if (jobs_ms == NEST__NO_HELPERS || nest__config.completion == NEST__COMPLETION_SYNC ||
        jobs_busy + jobs_queued == sizeof jobs / sizeof jobs[0]) {
        return -EAGAIN;
    }
    nest__jobs_add(NEST__JOBS_HELPERS, job);
    jobs_queued++;
    return 0;
}

uint32_t nest__helpers_queued(void) {
    return jobs_queued;
}

static uint32_t jobs_first(void) {
    uint32_t first = 0;
    for (uint32_t i = 1; i < jobs_busy; i++) {
        first = (int32_t)(jobs[i].due - jobs[first].due) < 0 ? i : first;
    }
    return first;
}

uint32_t script_job_next(void) {
    jobs_start();
    return jobs_busy == 0 ? 0 : jobs[jobs_first()].due;
}

static struct nest__job *jobs_do(uint32_t at) {
    struct nest__job *job = jobs[at].job;
    jobs_busy--;
    memmove(&jobs[at], &jobs[at + 1], (jobs_busy - at) * sizeof jobs[0]);
    job->result = job->work(job->arg);
    return job;
}

struct nest__job *nest__helped(void) {
    uint32_t next = script_job_next();
    return next == 0 || !nest__reached(next, script_now) ? NULL : jobs_do(jobs_first());
}

void nest__helpers_end(void) {
    for (jobs_start(); jobs_busy > 0; jobs_start()) {
        (void)jobs_do(0);
    }
}
