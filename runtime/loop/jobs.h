/* jobs.h: the jobs that wait for a helper thread.
 *
 * jobs.c: first in, first out. jobs_classes.c, with option priorities: by classes. The caller makes
 * sure that one thread at a time calls this. */
#ifndef NEST_LOOP_JOBS_H
#define NEST_LOOP_JOBS_H

#include "helpers.h"

void nest__jobs_add(struct nest__job *);
struct nest__job *nest__jobs_take(void); /* NULL: none waits */

#endif
