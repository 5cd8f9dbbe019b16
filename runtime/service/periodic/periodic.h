/* periodic.h: %timer: code that the server runs periodically. */
#ifndef NEST_SERVICE_PERIODIC_H
#define NEST_SERVICE_PERIODIC_H

#include "../../seam.h"

/* -- generated: actions.c */
struct nest__periodic {
    uint32_t every; /* ms, 1 to NEST__LONGEST */
    void (*run)(void);
    const char *file;
    uint32_t line;
};
extern const struct nest__periodic nest__spec_periodic[];
extern const unsigned nest__spec_periodic_count;

/* -- periodic.c. Times are in ms since an arbitrary moment. */
/* The ms until the next is due, at least 1. The first call begins the time. */
uint32_t nest__periodic_next(uint64_t now);
/* Runs what is due. `clock`: to measure how long it takes. */
void nest__periodic_step(uint64_t now, uint64_t (*clock)(void));

/* -- process.c, with sockets: in the service process */
extern const struct nest__task nest__periodic_task;
/* -- loop.c, in a script: on its loop. With sockets, loops have nothing to do. */
unsigned nest__periodic_due(void);
void nest__periodic_tick(void);

#endif
