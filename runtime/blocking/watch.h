/* watch.h: limits in time for workers that block in a receive, without a system call for each.
 *
 * A worker stores the deadline of its receive in its slot, and removes it afterwards. The watcher
 * is a thread that sleeps anyway. It sleeps until the earliest deadline that it knows, and wakes
 * the workers whose deadline has come. Deadlines mostly move later, so a worker seldom has to wake
 * the watcher for an earlier one. */
#ifndef NEST_IO_WATCH_H
#define NEST_IO_WATCH_H

#include "../seam.h"

#include <stdatomic.h>

struct nest__deadline_slot {   /* of a worker, and written by it: process workers share memory */
    _Atomic uint32_t deadline; /* 0: none, or not in a receive */
    _Atomic uint32_t wished;   /* the deadline for which it last woke the watcher; 0: seen */
    uint32_t asked;            /* the worker's own: `looks` + 1 when it last woke the watcher */
};
struct nest__watch {          /* one of the workers; written by the watcher alone */
    _Atomic uint32_t looks;   /* how many have begun */
    _Atomic uint32_t planned; /* when the watcher is to look next; 0: it need not, or looks now */
};

/* -- workers supplies */
extern struct nest__watch *nest__watch;
struct nest__deadline_slot *nest__deadline_slot(void); /* of this worker; NULL: nobody watches it */
void nest__watch_wake(void); /* the watcher looks at all slots; a system call */

/* -- for workers */
/* The watcher begins a look, clears its plan, and looks at slots; here the other way round. So it
 * sees this deadline, or the worker sees that it must be woken: once for each look. */
static inline void nest__watch_begin(struct nest__deadline_slot *slot, uint32_t deadline) {
    if (deadline != 0) {
        atomic_store(&slot->deadline, deadline);
        uint32_t planned = atomic_load(&nest__watch->planned);
        if (planned == 0 || (int32_t)(deadline - planned) < 0) {
            uint32_t looks = atomic_load(&nest__watch->looks);
            if (slot->asked != looks + 1) {
                slot->asked = looks + 1;
                atomic_store(&slot->wished, deadline);
                nest__watch_wake();
            }
        }
    }
}
static inline void nest__watch_end(struct nest__deadline_slot *slot) {
    atomic_store_explicit(&slot->deadline, 0, memory_order_relaxed);
}

/* -- for the watcher: a look that is due is begun, goes over all slots, and is ended. */
struct nest__look {
    uint32_t now, next; /* next: the earliest that has not come; 0: none */
    uint32_t before;    /* what was planned, or wished for meanwhile; 0: nothing */
};
/* `asked`: nest__watch_wake was called. False: none is due; *timeout says how long to sleep, -1:
 * until it is called. */
bool nest__look_due(bool asked, int *timeout);
struct nest__look nest__look_begin(void);
/* True: its time has come; it is reported once, and the worker is to be woken. */
bool nest__look_at(struct nest__look *, struct nest__deadline_slot *);
int nest__look_end(const struct nest__look *); /* how long to sleep, as above */

#endif
