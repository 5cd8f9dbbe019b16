/* region.h: %shared: variables that all connections of a server share, whichever process or thread
 * serves them. */
#ifndef NEST_SERVICE_REGION_H
#define NEST_SERVICE_REGION_H

#include "../../seam.h"

/* -- generated: actions.c */
extern const size_t nest__spec_shared_size;    /* of the variables */
extern const bool nest__spec_shared_recovers;  /* actions ask for a holder that has died */
void nest__spec_shared_begin(void *variables); /* zeroed; they get their initial values */

int nest__region_check(void);
int nest__region_start(void);
struct nest__need nest__region_common(void);

/* -- size.c: option sharedSize. Whether a text is a value of it; else -EINVAL, and the reason, of
 * at most 256 bytes */
int nest__region_valid(const char *text, char *reason);
uint64_t nest__region_size(void); /* of everything that is shared */

/* -- region.c, for the files of the lock */
bool nest__region_inside(
    void); /* this thread is alone: it holds the lock, or there are no others */
bool nest__region_recover(void); /* what $alloc knows of its memory. False: it is broken */
/* Makes everything new: zeroed memory, initial values. No process uses it. */
void nest__region_fresh(void);

/* -- the lock: lock.c, or alone.c where nobody else runs. */
void nest__region_lock_fresh(void *page); /* a page of zeroes that all processes share */
bool nest__region_holds(void);            /* this thread does */
_Noreturn void nest__region_misused(const char *how); /* "waits inside $lock" */
/* In the supervisor: */
bool nest__region_pause(void);
unsigned nest__region_mind(void);
void nest__region_reaped(uint32_t worker);
/* In a process that runs actions: */
int nest__region_serve(void);
void nest__region_wait(nest_session *);

#endif
