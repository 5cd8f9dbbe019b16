/* system.h: what every poller of real descriptors needs of its process. */
#ifndef NEST_POLLER_SYSTEM_H
#define NEST_POLLER_SYSTEM_H

#include "../loop/helpers.h"
#include "poller.h"

/* Descriptors for all clients: how many there can be at once; 0, and said why. */
int nest__system_prepare(uint32_t *most);

/* Descriptors of the loop itself: when one is readable, its operation completes. */
struct nest__source {
    int fd;
    uint8_t operation; /* enum nest__operation */
};
enum { NEST__SOURCES = 5 };
/* Nobody reads its descriptor, so it stays readable: each event of it is told once. */
static inline bool nest__source_unread(uint8_t operation) {
    return operation == NEST__OP_ALARM || operation == NEST__OP_WAKE;
}
/* From here on TERM, INT and HUP are an operation; accept never blocks; a child that an action
 * forks holds no connection open. Helpers are prepared. Lists the sources; *n: how many. 0 or
 * -errno. */
int nest__system_start(struct nest__source sources[NEST__SOURCES], unsigned *n);
/* The result of an operation of a source. */
int64_t nest__source_result(enum nest__operation);

/* -- clock.c */
int nest__clock_start(int *timer); /* its descriptor, for NEST__OP_ALARM. 0 or -errno */
void nest__clock_step(void);       /* a step begins: the time is read again when it is needed */

#endif
