/* processors.h: option processors: actions run on a pool of threads, while the loop serves others.
 *
 * Only in servers with the option (NEST__PROCESSORS); the callers test this. An action that runs on
 * a thread of the pool is moved: the loop touches neither its session nor its work until it comes
 * back. Directives that need the loop bring it home, and let it go on afterwards. */
#ifndef NEST_SERVICE_PROCESSORS_H
#define NEST_SERVICE_PROCESSORS_H

#include "../../seam.h"

struct nest__trip; /* of an action from the loop to a thread and back */

/* -- processors.c, for the engine */
/* nest__spec_act, on a thread if there is one. */
void nest__processors_act(nest_session *, void *vars, int rule, const struct nest_message *);
/* The running action continues on the loop's thread. Returns what nest__processors_go wants; NULL:
 * it is there already. A function that calls it must not be inlined, nor may what it calls between
 * the two be inlined into it: errno is another one there. */
struct nest__trip *nest__processors_home(nest_session *);
void nest__processors_go(struct nest__trip *); /* back to its thread; NULL: stays */
/* Whether a text is a value of the option; else -EINVAL and the reason. */
int nest__processors_valid(const char *text, char *reason);
/* The number of the calling thread: 0 is the loop's. */
uint32_t nest__processors_number(void);

/* -- pool.c */
uint32_t nest__processors_most(void); /* threads beside the loop, by the option */
void nest__processors_end(void);      /* the loop has ended: ends the threads, which have no job */
/* For the loop: gives the threads all jobs since the last call: one lock, and at most one wake. */
void nest__processors_flush(void);
/* How many actions wait for a thread; for how many us the oldest of them has, 0: there is none. */
uint32_t nest__processors_waiting(void);
uint64_t nest__processors_waited(uint64_t now);

/* Threads of a worker that write for themselves what services count or record; which one calls. */
static inline uint32_t nest__writers(void) {
    return NEST__PROCESSORS ? 1 + nest__processors_most() : nest__worker_threads();
}
static inline uint32_t nest__writer(const nest_session *s) {
    if (NEST__PROCESSORS) {
        return nest__processors_number();
    }
    uint32_t threads = nest__worker_threads();
    return threads == 1 ? 0 : s->self.slot % threads;
}

/* While it is moved, `next` of a session's record has this value, which is no slot. */
#define NEST__MOVED (UINT32_MAX - 1)
static inline bool nest__moved(const nest_session *s) {
    return NEST__PROCESSORS && s->next == NEST__MOVED;
}

#endif
