/* idle_exit.h: how long worker models of blocking workers wait for any client.
 *
 * Their workers do not tell of every connection: somebody looks now and then. */
#ifndef NEST_WORKERS_IDLE_EXIT_H
#define NEST_WORKERS_IDLE_EXIT_H

#include "supervisor.h"

struct nest__idle_exit { /* zeroed is a new one */
    uint64_t next, ended;
    uint32_t quiet; /* looks in a row that found nobody, and nobody gone */
};
/* A look, if one is due. True: the server may end. *timeout becomes smaller if the next look comes
 * before. `limit`: nest__listen_idle_exit(). */
bool nest__idle_exit_due(struct nest__idle_exit *, uint32_t limit, bool busy, uint64_t ended,
                         int *timeout);
/* How many connections have ended in this process, or its workers. */
uint64_t nest__ended_all(void);

#endif
