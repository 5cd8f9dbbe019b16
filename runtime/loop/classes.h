/* classes.h: whose turn is next, where things of several classes wait (option priorities).
 *
 * Each class has a clock, which advances by the work that was done for it, divided by its quota.
 * The class whose clock is least has the next turn, and of equal ones the first class. So classes
 * that always have something to do get shares as their quotas say, and none starves. A class that
 * had nothing to do gets no credit for that: its clock is set forward when it has something again.
 * (Stride scheduling: Waldspurger and Weihl, 1995.) */
#ifndef NEST_LOOP_CLASSES_H
#define NEST_LOOP_CLASSES_H

#include "../service/priority/priority.h"

#define NEST__CLASS_SCALE (UINT64_C(1) << 20) /* of clocks */

struct nest__classes { /* zeroed: nothing waits */
    uint64_t clock[NEST__CLASSES];
    uint64_t now; /* the clock of the class that had the last turn */
    uint32_t waiting[NEST__CLASSES];
};

/* One thing more waits in the class. */
static inline void nest__classes_add(struct nest__classes *classes, uint32_t rank) {
    if (classes->waiting[rank]++ == 0 && classes->clock[rank] < classes->now) {
        classes->clock[rank] = classes->now;
    }
}

/* The class that has the next turn; NEST__CLASSES: nothing waits. */
static inline uint32_t nest__classes_next(struct nest__classes *classes) {
    uint32_t next = NEST__CLASSES;
    for (uint32_t rank = 0; rank < NEST__CLASSES; rank++) {
        if (classes->waiting[rank] > 0 &&
            (next == NEST__CLASSES || classes->clock[rank] < classes->clock[next])) {
            next = rank;
        }
    }
    if (next != NEST__CLASSES) {
        classes->now = classes->clock[next];
    }
    return next;
}

/* So much work was done for the class. */
static inline void nest__classes_charge(struct nest__classes *classes, uint32_t rank,
                                        uint32_t work) {
    classes->clock[rank] += work * NEST__CLASS_SCALE / nest__priority_quota(rank);
}

#endif
