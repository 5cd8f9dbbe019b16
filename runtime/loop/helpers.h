/* helpers.h: the interface between a loop and the threads that run work which may block.
 *
 * Everything except the work itself is called on the loop's thread. For scripts,
 * poller/script_jobs.c implements it without threads. */
#ifndef NEST_HELPERS_H
#define NEST_HELPERS_H

#include "../seam.h"

struct nest__job { /* owned by the caller; must not move until nest__helped returns it */
    struct nest__job *next;
    int (*work)(void *); /* runs on a helper: may block, must not use the loop */
    void *arg;
    int result;            /* of `work` */
    nest_session *session; /* NULL: a service's job; the loop sets `work` to NULL when it is done */
};

/* Call before the first job; a second call has no effect. Returns 0 or -errno. */
int nest__helpers_prepare(void);
/* Readable while nest__helped has a finished job to return; -1 before nest__helpers_prepare. */
int nest__helpers_fd(void);
/* Submits a job. Returns 0; -EAGAIN: no thread can be created, or `completion` is sync, so the
 * caller must run it. */
int nest__help(struct nest__job *);
/* From any thread: the job was done by another thread than a helper. */
void nest__help_done(struct nest__job *);
/* Returns the next finished job, in the order of completion; NULL: none. */
struct nest__job *nest__helped(void);
/* From now on *place is the number of jobs that wait for a thread. Call before the first job. */
void nest__helpers_watch(_Atomic uint32_t *place);
uint32_t nest__helpers_queued(void); /* how many jobs wait for a thread */
/* Waits until all jobs are finished, and ends the threads. */
void nest__helpers_end(void);

#endif
