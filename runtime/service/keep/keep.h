/* keep.h: $keep: memory that lasts until its connection ends. */
#ifndef NEST_SERVICE_KEEP_H
#define NEST_SERVICE_KEEP_H

#include "../../seam.h"

struct nest__kept;

/* scope: connection */
struct nest__keep_state {
    struct nest__kept *first; /* allocations, the latest first */
    size_t n;                 /* bytes that count towards keepLimit */
};

struct nest__need nest__keep_need(void);
bool nest__keep_holds(const struct nest__work *);
void nest__keep_drop(struct nest__work *);

#endif
