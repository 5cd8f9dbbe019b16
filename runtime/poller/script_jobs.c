/* script_jobs.c: work that may block, done in a later step of the loop: loop/helpers.h in virtual
 * time.
 *
 * Called by the files of loop/. State: the jobs of this process. At most as many are under way as
 * there are helpers; each takes the virtual time that the script says. Must not know what the work
 * is. */
#include "../loop/helpers.h"
#include "script.h"

#include <errno.h>

struct jobs_entry {
    struct nest__job *job;
    uint32_t due; /* 0: no helper is free yet */
};
static struct jobs_entry jobs[SCRIPT_CLIENTS + 1]; /* in the order in which they came */
static uint32_t jobs_count, jobs_busy, jobs_ms;

static void jobs_start(void) {
    uint32_t helpers = nest__config.helpers > 0 ? nest__config.helpers : 1;
    for (uint32_t i = 0; i < jobs_count && jobs_busy < helpers; i++) {
        if (jobs[i].due == 0) {
            jobs[i].due = nest__after(script_now, jobs_ms);
            jobs_busy++;
        }
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
        jobs_count == sizeof jobs / sizeof jobs[0]) {
        return -EAGAIN;
    }
    jobs[jobs_count++] = (struct jobs_entry){job, 0};
    return 0;
}

uint32_t nest__helpers_queued(void) {
    uint32_t queued = 0;
    for (uint32_t i = 0; i < jobs_count; i++) {
        queued += jobs[i].due == 0;
    }
    return queued;
}

static uint32_t jobs_first(void) {
    uint32_t first = 0;
    for (uint32_t i = 1; i < jobs_count; i++) {
        bool sooner = jobs[first].due == 0 || (int32_t)(jobs[i].due - jobs[first].due) < 0;
        first = jobs[i].due != 0 && sooner ? i : first;
    }
    return first;
}

uint32_t script_job_next(void) {
    jobs_start();
    return jobs_count == 0 ? 0 : jobs[jobs_first()].due;
}

static struct nest__job *jobs_do(uint32_t at) {
    struct nest__job *job = jobs[at].job;
    jobs_busy -= jobs[at].due != 0;
    jobs_count--;
    memmove(&jobs[at], &jobs[at + 1], (jobs_count - at) * sizeof jobs[0]);
    job->result = job->work(job->arg);
    return job;
}

struct nest__job *nest__helped(void) {
    uint32_t next = script_job_next();
    return next == 0 || !nest__reached(next, script_now) ? NULL : jobs_do(jobs_first());
}

void nest__helpers_end(void) {
    while (jobs_count > 0) {
        (void)jobs_do(0);
    }
}
