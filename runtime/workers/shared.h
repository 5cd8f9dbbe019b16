/* shared.h: the memory that the supervisor shares with its workers.
 *
 * Orders go from the supervisor to all workers; a report goes from one worker to the supervisor.
 * Orders and each report have pages of their own: a worker can write to its report and to nothing
 * else, so that an action that writes where it must not can spoil one report at most. The
 * supervisor believes no report: it checks each value that it reads. What it must be able to rely
 * on, such as process identifiers, is in its private memory. */
#ifndef NEST_WORKERS_SHARED_H
#define NEST_WORKERS_SHARED_H

#include "../seam.h"

#include <stdatomic.h>

/* Zeroed memory is a server that runs. A worker model may use a larger structure that begins with
 * this one. */
struct nest__orders {
    _Atomic uint32_t stops;   /* how many stops, */
    _Atomic uint32_t reloads; /* and how many reloads were passed on to workers: counted before the
                                 signal is sent, which may also come from elsewhere */
    _Atomic uint32_t seen;    /* numbers of workers below this one have been used */
};

/* A worker model may use a larger structure that begins with this one. */
struct nest__report {
    uint64_t guard; /* NEST__GUARD: nothing has written over the report since it was made */
    _Atomic uint64_t ended[NEST_REASONS]; /* of this worker; as nest__ended */
    _Atomic uint64_t cut;
    _Atomic uint64_t lost;    /* connections whose threads ended; not among `ended` */
    _Atomic uint64_t over;    /* NEST__OVER: the worker has served to the end, and meant to exit */
    _Atomic uint64_t reloads; /* that the worker has followed */
    uint64_t guard_behind;
};
#define NEST__GUARD UINT64_C(0x9d3c72e1a5f04b68)
#define NEST__OVER UINT64_C(0x61c8e0d7935a2bf4)
enum { NEST__ORDERS_MOST = 1024, NEST__REPORT_MOST = 1024 }; /* bytes; a page has more anywhere */

/* What a report says, checked. */
struct nest__told {
    uint64_t ended[NEST_REASONS], cut, lost;
    bool over;
    bool spoiled; /* the report was written over: all else is zero */
};

/* -- a service, before the supervisor begins */
/* Reserves memory behind each report, for a service. It is zero when a worker begins. Returns where
 * it is in a report. */
size_t nest__report_reserve(size_t bytes);
/* -- the supervisor, and before it begins */
int nest__shared_prepare(uint32_t workers); /* maps all; 0 or -ENOMEM */
void nest__report_clear(uint32_t worker);   /* before the worker is forked */
struct nest__told nest__report_read(uint32_t worker);
/* -- everybody */
extern void *nest__orders_page;           /* NULL without a supervisor */
void nest__lost_add(void);                /* a connection is lost, and its worker serves others */
void *nest__report_page(uint32_t worker); /* others may read it, and must expect anything */
/* False: it has been written over, or there is no such worker yet. */
bool nest__report_sound(const struct nest__report *);
/* -- a child of the supervisor */
void nest__shared_seal(void); /* first thing in its process: it cannot write to what is shared */
/* -- a worker, then: it counts from zero, and into its report, which it can write to. */
void nest__report_open(uint32_t worker);
void *nest__report_own(size_t at); /* of its report; NULL: this process is no worker */
/* Last. `settled`: nothing counts any more, and the counts are written anew, whatever has become of
 * the report meanwhile. */
void nest__report_close(bool settled);

#endif
