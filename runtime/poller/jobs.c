/* jobs.c: work that may block, done in a later step of the loop: the deterministic twin of
 * loop/helpers.c.
 *
 * Called by script.c and script_steps.c. State: the jobs of this process. At most as many are under
 * way as there are helpers; each takes the virtual time that the script says. Must not know what
 * the work is. */
#include "script.h"

#include <string.h>

static struct {
    nest_session *session;
    const struct nest__waiter *waiter;
    uint32_t due;       /* 0: no helper is free yet */
} jobs[SCRIPT_CLIENTS]; /* in the order in which they came */
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

bool script_job_add(nest_session *s, struct nest__waiter *waiter) {
    if (jobs_ms == NEST__NO_HELPERS || jobs_count == SCRIPT_CLIENTS || nest__own(s, NULL) < 0) {
        waiter->result = waiter->wait->work(waiter->wait->arg);
        return false;
    }
    jobs[jobs_count].session = s;
    jobs[jobs_count].waiter = waiter;
    jobs[jobs_count++].due = 0;
    return true;
}

uint32_t script_job_next(void) {
    uint32_t next = 0;
    jobs_start();
    for (uint32_t i = 0; i < jobs_count; i++) {
        if (jobs[i].due != 0 && (next == 0 || (int32_t)(jobs[i].due - next) < 0)) {
            next = jobs[i].due;
        }
    }
    return next;
}

nest_session *script_job_done(void) {
    uint32_t next = script_job_next();
    if (next == 0 || !nest__reached(next, script_now)) {
        return NULL;
    }
    uint32_t at = 0;
    while (jobs[at].due != next) {
        at++;
    }
    nest_session *s = jobs[at].session;
    const struct nest__waiter *waiter = jobs[at].waiter;
    jobs_count--;
    jobs_busy--;
    memmove(&jobs[at], &jobs[at + 1], (jobs_count - at) * sizeof jobs[0]);
    if ((s->flags & NEST__WAITING) == 0 || s->waiter != waiter) {
        return NULL; /* it had no stack to leave on, and has not waited */
    }
    return script_waited(s, waiter->wait->work(waiter->wait->arg));
}
