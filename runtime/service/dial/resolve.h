/* resolve.h: finds the addresses of a name on threads that only look up names. */
#ifndef NEST_SERVICE_DIAL_RESOLVE_H
#define NEST_SERVICE_DIAL_RESOLVE_H

#include "address.h"

struct nest__lookup; /* shared by the action that waits and the thread that looks up */

/* Called once, before anything is looked up, and before a fork. 0; -1 and errno. */
int nest__resolve_prepare(void);
/* Begins to look up a name. *event becomes readable when the result is there, and belongs to the
 * caller. NULL and errno. */
struct nest__lookup *nest__resolve_begin(const char *host, uint16_t port, int *event);
/* The result, once it is there: the number of addresses; 0: none, and *error is that of
 * getaddrinfo(3); for EAI_SYSTEM, errno is set. */
unsigned nest__resolve_result(struct nest__lookup *, struct nest__dial_address[], int *error);
/* The caller does not wait any more; the thread goes on if it has begun. */
void nest__resolve_leave(struct nest__lookup *);

#endif
