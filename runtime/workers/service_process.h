/* service_process.h: one process beside the workers, in which a server's own work runs: timers,
 * metrics, logs, filling caches.
 *
 * It may die at any moment: no client notices, and another takes its place. It exists only in
 * servers of which a part declares such work. Without it workers/service_process_none.c stands in
 * place of this header: the calls are empty. */
#ifndef NEST_WORKERS_SERVICE_PROCESS_H
#define NEST_WORKERS_SERVICE_PROCESS_H

#include "../seam.h"

#include <poll.h>
#include <sys/types.h>

/* -- for the supervisor */
/* Forks it when there is none. While a service pauses the server, kills it instead. ms until it
 * must be looked at again; -1: it need not. */
int nest__service_process_mind(void);
/* True: this was it; another is forked when its backoff is over. */
bool nest__service_process_reaped(pid_t, int status);
bool nest__service_process_runs(void);
/* The server ends: so does it, in the end by force. */
void nest__service_process_end(void);

/* -- for parts of the runtime: a task is work that runs in that process, one step at a time. */
enum { NEST__TASK_WAITS = 8 }; /* descriptors of one task, at most */
struct nest__task {
    const char *name;
    /* Once, when the process has begun. 0, or -errno: the process ends, and is tried again. */
    int (*begin)(void);
    /* Which descriptors it waits for, and for what. How many. */
    unsigned (*waits)(struct pollfd waits[NEST__TASK_WAITS]);
    /* What is due, with what `waits` has found: it is called at first, then when a descriptor is
     * ready or its time has come. ms until it is to be called again; -1: when a descriptor is. */
    int (*step)(const struct pollfd waits[NEST__TASK_WAITS], unsigned n);
    /* Before the process ends after TERM, within its grace. NULL: there is nothing to do. */
    void (*end)(void);
};
/* Generated: all of this server. */
extern const struct nest__task *const nest__tasks[];
extern const unsigned nest__task_count;

#endif
