/* helpers.h: the contract between a loop and the threads that do what would make it wait.
 *
 * All but the work itself is called on the loop's thread. poller/jobs.c is script's form of it. */
#ifndef NEST_HELPERS_H
#define NEST_HELPERS_H

#include "../seam.h"

struct nest__job { /* the caller's; it stays where it is until nest__helped returns it */
    struct nest__job *next;
    int (*work)(void *); /* runs on a helper: it may block, and may not touch the loop's things */
    void *arg;
    int result;            /* of work */
    nest_session *session; /* NULL: of a service; the loop sets work to NULL when it is done */
};

/* Before the first job; a second call does nothing. 0 or -errno. */
int nest__helpers_prepare(void);
/* Readable while a job is done that nest__helped has not returned; -1 before prepare. */
int nest__helpers_fd(void);
/* Gives a job away. 0; -EAGAIN: there is no thread and none can be made: the caller runs it. */
int nest__help(struct nest__job *);
/* One that is done, in the order in which they were done; NULL: none. */
struct nest__job *nest__helped(void);
/* Waits for the threads to finish what they were given and ends them. */
void nest__helpers_end(void);

#endif
