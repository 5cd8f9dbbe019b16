/* watch.h: limits in time for carriers that block in a receive, without a system call for each.
 *
 * A carrier says in its seat when its receive must end, and takes that back after. The watcher is
 * whoever of the crew sleeps anyway: it sleeps until the earliest deadline that it knows, and
 * rouses the carriers whose deadline has come. A deadline mostly moves later, so that a carrier
 * seldom has to tell the watcher of an earlier one. */
#ifndef NEST_IO_WATCH_H
#define NEST_IO_WATCH_H

#include "../seam.h"

#include <stdatomic.h>

struct nest__seat {            /* of a carrier; where both see it: process carriers share memory */
    _Atomic uint32_t deadline; /* 0: none, or not in a receive */
};
struct nest__watch {          /* one of the crew, likewise shared */
    _Atomic uint32_t planned; /* when the watcher is to look next; 0: it need not, or looks now */
};

/* -- crew supplies */
extern struct nest__watch *nest__watch;
struct nest__seat *nest__seat(void); /* of this carrier; NULL: nobody watches it */
void nest__watch_wake(void);         /* the watcher looks at all seats; a system call */

/* -- for carriers */
static inline bool nest__watch_plan(uint32_t deadline) { /* true: it is the earliest now */
    uint32_t planned = atomic_load(&nest__watch->planned);
    do {
        if (planned != 0 && (int32_t)(deadline - planned) >= 0) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(&nest__watch->planned, &planned, deadline));
    return true;
}
static inline void nest__watch_begin(struct nest__seat *seat, uint32_t deadline) {
    if (deadline != 0) { /* the watcher clears the plan and looks at seats; here the other way */
        atomic_store(&seat->deadline, deadline);
        if (nest__watch_plan(deadline)) {
            nest__watch_wake();
        }
    }
}
static inline void nest__watch_end(struct nest__seat *seat) {
    atomic_store_explicit(&seat->deadline, 0, memory_order_relaxed);
}

/* -- for the watcher: a look that is due is begun, goes over all seats, and is ended. */
struct nest__look {
    uint32_t now, next; /* next: the earliest that has not come; 0: none */
    uint32_t before;    /* what was planned */
};
/* `asked`: nest__watch_wake was called. False: none is due; *timeout says how long to sleep, -1:
 * until it is called. */
bool nest__look_due(bool asked, int *timeout);
struct nest__look nest__look_begin(void);
/* True: its time has come; it is reported once, and the carrier is to be roused. */
bool nest__look_at(struct nest__look *, struct nest__seat *);
int nest__look_end(const struct nest__look *); /* how long to sleep, as above */

#endif
