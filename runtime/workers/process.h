/* process.h: what the supervisor of worker processes and a worker share, in memory and in words.
 *
 * Shared memory holds what workers tell: which of the spares' places is still taken, when a receive
 * must end, how a connection ended. Every value of it is valid, so that a worker may die at any
 * instruction. */
#ifndef NEST_WORKERS_PROCESS_H
#define NEST_WORKERS_PROCESS_H

#include "../blocking/watch.h"
#include "../seam.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/types.h>

enum { NEST__SPARES = 16 };

struct nest__told { /* of a slot: by its worker */
    _Atomic uint64_t ended[NEST_REASONS];
    struct nest__deadline_slot slot;
    _Atomic uint32_t cut; /* the stop has cut its connection */
};
struct nest__shared {
    struct nest__watch watch;
    _Atomic int stop;                      /* nest__stop as the supervisor has it */
    _Atomic uint32_t asked;                /* for more spares, since the supervisor last counted */
    _Atomic uint32_t scarce;               /* when it was said that accept cannot */
    _Atomic uint32_t spares[NEST__SPARES]; /* slot + 1 of a worker that has no connection yet */
    struct nest__told told[];
};

/* -- process.c */
extern struct nest__shared *nest__shared;
uint32_t nest__spares(void);
uint32_t nest__spares_target(void);
void nest__supervisor_ask(void); /* for a spare; the supervisor is waked */
pid_t nest__supervisor(void);

/* -- worker.c */
int nest__worker_prepare(void); /* what every worker inherits; 0 or -ENOMEM */
/* In the child, with TERM, INT, HUP blocked; `mask` is what it runs with. */
_Noreturn void nest__worker_main(uint32_t slot, uint32_t gen, unsigned place, const sigset_t *mask);
/* In a process without supervisor: the one connection. True: it was cut. */
bool nest__worker_only(const struct nest__arrival *);

#endif
