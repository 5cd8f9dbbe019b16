/* supervisor.h: a main process that owns the listening sockets, and the process that serves.
 *
 * Used by worker models of which one process serves all. supervisor_none.c: that is the main
 * process. */
#ifndef NEST_WORKERS_SUPERVISOR_H
#define NEST_WORKERS_SUPERVISOR_H

#include "../seam.h"

#include <sys/types.h>

struct nest__counts { /* outlive the process that serves, and are written by it alone */
    _Atomic uint64_t ended[NEST_REASONS];
    _Atomic uint64_t cut;
    _Atomic uint32_t drain_ms; /* drainTimeout, which a reload may have changed there */
};
extern struct nest__counts *nest__counts;

/* At the workers's preparation: from here on no TERM is lost. 0, or -errno and said why. */
int nest__supervisor_prepare(void);
/* Runs `serve` in a process of its own, again and again while it dies, until it returns; its
 * result. Without listeners there is nobody to go on for: then here. */
int nest__supervise(int (*serve)(void));
bool nest__supervises(void); /* this process has not served: what exit handlers would see is not
                                what actions left */
/* Whether who serves does what this TERM, INT or HUP says: the supervisor passes them on and counts
 * them, and a signal to both is meant once. Async-signal-safe. */
bool nest__heeds(int signal);
/* How often who serves has died: names of connections begin behind those of the dead. */
uint32_t nest__lives(void);
#define NEST__LIFE (UINT32_C(1) << 20) /* generations of a slot, for each */
/* For nest__crash_install. */
const char *nest__crash_consequence(void);

#endif
