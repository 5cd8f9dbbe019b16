/* pool.h: the threads on which actions run. Included by service/processors/ alone. */
#ifndef NEST_SERVICE_PROCESSORS_POOL_H
#define NEST_SERVICE_PROCESSORS_POOL_H

#include "../../loop/helpers.h"
#include "processors.h"

struct nest__processor; /* a thread */

/* An action that waits for a thread, in the order in which they came. */
struct nest__queued {
    struct nest__queued *older, *newer;
    uint64_t since; /* us */
};

/* -- pool.c */
/* Makes the first threads at the first call. False: there is none, by the option or for lack of
 * memory, so actions run on the loop. */
bool nest__processors_ready(void);
/* The job is done after the next nest__processors_flush, by the thread that nest__processors_of
 * says. Then nest__helped returns it. */
void nest__processors_add(struct nest__job *);

/* -- processors.c */
/* The worker of the calling thread, and its number. */
void nest__processors_enter(struct nest__worker *, uint32_t number);
/* The job is about to be done by this thread, to which it returns from now on. */
void nest__processors_take(struct nest__job *, struct nest__processor *);
struct nest__processor *nest__processors_of(const struct nest__job *); /* NULL: any */
struct nest__queued *nest__processors_queued(struct nest__job *);

#endif
