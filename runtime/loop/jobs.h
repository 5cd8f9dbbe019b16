/* jobs.h: the jobs that wait for a thread, in a list for each kind of threads.
 *
 * jobs.c: first in, first out. jobs_classes.c, with option priorities: by classes. The caller makes
 * sure that one thread at a time uses a list. */
#ifndef NEST_LOOP_JOBS_H
#define NEST_LOOP_JOBS_H

#include "helpers.h"

enum nest__jobs {
    NEST__JOBS_HELPERS,
    NEST__JOBS_PROCESSORS, /* actions that no thread has begun */
    NEST__JOBS_LISTS
};

void nest__jobs_add(enum nest__jobs, struct nest__job *);
struct nest__job *nest__jobs_take(enum nest__jobs); /* NULL: none waits */

#endif
