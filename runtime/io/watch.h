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
    _Atomic uint32_t planned; /* when the watcher looks next; 0: it does not, or it looks now */
};

/* -- crew supplies */
extern struct nest__watch *nest__watch;
struct nest__seat *nest__seat(void); /* of this carrier; NULL: nobody watches it */
void nest__watch_wake(void);         /* the watcher looks at all seats; a system call */

/* -- for carriers */
static inline void nest__watch_begin(struct nest__seat *seat, uint32_t deadline) {
    if (deadline != 0) { /* the watcher stores `planned` and looks at seats; here the other way */
        atomic_store(&seat->deadline, deadline);
        uint32_t planned = atomic_load(&nest__watch->planned);
        if (planned == 0 || (int32_t)(deadline - planned) < 0) {
            nest__watch_wake();
        }
    }
}
static inline void nest__watch_end(struct nest__seat *seat) {
    atomic_store_explicit(&seat->deadline, 0, memory_order_relaxed);
}

/* -- for the watcher: a look is begun, goes over all seats, and is ended. */
struct nest__look {
    uint32_t now, next; /* next: the earliest that has not come; 0: none */
};
struct nest__look nest__look_begin(void);
/* True: its time has come; it is reported once, and the carrier is to be roused. */
bool nest__look_at(struct nest__look *, struct nest__seat *);
/* How long to sleep in ms, -1: until nest__watch_wake. */
int nest__look_end(const struct nest__look *);

#endif
