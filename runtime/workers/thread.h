/* thread.h: what the threads of a thread server and their pool share.
 *
 * Each thread has a slot, its own but for `fd`, which main looks at under the slot's lock: while it
 * is held, the number is still this connection's. */
#ifndef NEST_WORKERS_THREAD_H
#define NEST_WORKERS_THREAD_H

#include "../blocking/blocking.h"
#include "../blocking/watch.h"
#include "../engine/engine.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>

enum { NEST__THREAD_STACK = 256 * 1024 /* beside thread-local storage; a guard page is below */ };

enum {
    NEST__THREAD_NONE,
    NEST__THREAD_RUNS,
    NEST__THREAD_ENDED /* and is to be joined */
};

struct nest__thread_slot {
    alignas(64) nest_session session;
    struct nest__deadline_slot limit;
    pthread_mutex_t lock;
    int fd;       /* under lock; -1: no connection */
    uint8_t kind; /* of it */
    bool left;    /* under lock: counted among those that are cut, whatever it still does */
    _Atomic uint8_t state; /* NEST__THREAD_* */
    pthread_t thread;
    struct nest__worker *worker;
    void *vars;
    uint8_t *buffer;
};

struct nest__thread_pool {
    struct nest__watch watch;
    struct nest__thread_slot *slots;
    _Atomic uint32_t live;     /* threads that have not ended yet */
    _Atomic uint32_t spares;   /* of them, without a client */
    _Atomic bool wanted;       /* main was asked for more, and has not looked yet */
    int wake;                  /* eventfd for main */
    struct nest__arrival only; /* inetd's */
    bool has_only;
    _Atomic uint32_t scarce; /* when it was said that a client must wait */
};
extern struct nest__thread_pool nest__threads;

/* -- thread.c: starts a thread in a slot that has none, with the slot's lock or before anybody else
 * sees it. It is counted before it can end. 0 or -errno. */
int nest__thread_create(struct nest__thread_slot *);

/* -- threads.c: the bounds of `spares` */
uint32_t nest__spares_least(void);
uint32_t nest__spares_most(void);

#endif
