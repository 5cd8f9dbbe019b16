/* lock.c: the lock of %shared between processes and threads, and what becomes of the variables when
 * a holder dies.
 *
 * Called by actions and at join points. State: in memory that all processes share, the mutex, its
 * holder, and whether the variables are sound. Must not know what they are.
 *
 * The mutex is robust: the system gives it to the next that waits when its holder dies. The
 * variables may then be half changed. If the code of the next holder asks for this, it repairs
 * them. Otherwise they are given up: every process that could have read them is killed, and the
 * supervisor makes all anew. */
#include "region.h"
#include "../../platform/platform.h"
#include "../../workers/children.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_WELL_MS = 10 * 1000 }; /* a death after this has another cause */

enum lock_state {
    LOCK_SOUND,
    LOCK_DIRTY,    /* a holder has died, and nobody has been told */
    LOCK_GIVEN_UP, /* all workers end */
};

struct lock_page {
    pthread_mutex_t mutex;
    _Atomic pid_t holder; /* 0: nobody, or one that has not changed anything yet */
    _Atomic uint32_t state;
};

static struct lock_page *lock; /* scope: server */
static pid_t lock_process;     /* scope: process */
static bool lock_said;         /* scope: process. The supervisor's: that all workers end */
static uint64_t lock_fresh;    /* scope: process. The supervisor's: ms, made anew last; 0: never */

static _Thread_local bool lock_held;  /* scope: thread */
static _Thread_local bool lock_asked; /* scope: thread. The holder has been told */

/* A mutex that is given up has a holder that was killed, so it is made anew, not destroyed. */
void nest__region_lock_fresh(void *page) {
    pthread_mutexattr_t attributes;
    lock = page;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&lock->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    lock_process = getpid();
}

int nest__region_serve(void) {
    lock_process = getpid();
    return 0;
}

/* -- in a process that runs actions --------------------------------------------------------------
 */

/* The variables cannot be trusted. The supervisor kills this process; without it, it ends. */
static _Noreturn void lock_give_up(void) {
    const struct timespec pause = {.tv_nsec = 5 * 1000 * 1000};
    atomic_store(&lock->state, LOCK_GIVEN_UP);
    nest__supervisor_wake();
    while (getppid() == nest__supervisor()) {
        nanosleep(&pause, NULL);
    }
    _exit(EXIT_FAILURE);
}

__attribute__((noinline)) bool nest__region_holds(void) {
    return lock_held;
}

__attribute__((noinline)) void nest_lock_begin(bool asks) {
    int error = pthread_mutex_lock(&lock->mutex);
    if (error == EOWNERDEAD) {
        pthread_mutex_consistent(&lock->mutex);
        uint32_t sound = LOCK_SOUND;
        if (atomic_load(&lock->holder) != 0) {
            atomic_compare_exchange_strong(&lock->state, &sound, LOCK_DIRTY);
        }
    } else if (error == EDEADLK) {
        nest__region_misused("enters $lock inside");
    } else if (error != 0) {
        lock_give_up();
    }
    lock_held = true;
    lock_asked = false;
    atomic_store_explicit(&lock->holder, lock_process, memory_order_relaxed);
    uint32_t state = atomic_load_explicit(&lock->state, memory_order_relaxed);
    if (state == LOCK_GIVEN_UP || (state == LOCK_DIRTY && (!asks || !nest__region_recover()))) {
        lock_give_up();
    }
    atomic_signal_fence(memory_order_seq_cst); /* the holder is known before anything changes */
}

__attribute__((noinline)) void nest_lock_end(void) {
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&lock->state, memory_order_relaxed) != LOCK_SOUND) {
        if (!lock_asked) {
            lock_give_up();
        }
        atomic_store(&lock->state, LOCK_SOUND);
    }
    lock_held = false;
    atomic_store_explicit(&lock->holder, 0, memory_order_relaxed);
    pthread_mutex_unlock(&lock->mutex);
}

__attribute__((noinline)) bool nest_recovered(void) {
    lock_asked = true;
    return atomic_load(&lock->state) == LOCK_DIRTY;
}

/* Others would wait for this connection. The compiler sees most such code, but not all C. */
__attribute__((noinline)) void nest__region_wait(nest_session *s) {
    (void)s;
    if (lock_held) {
        nest__region_misused("waits inside");
    }
}

/* -- in the supervisor ---------------------------------------------------------------------------
 */

bool nest__region_pause(void) {
    return atomic_load(&lock->state) == LOCK_GIVEN_UP;
}

/* Where code asks, the next holder is told. Where none does, nobody should read the variables. */
void nest__region_reaped(uint32_t worker) {
    pid_t pid = nest__child(worker)->pid;
    if (!nest__spec_shared_recovers && atomic_load(&lock->holder) == pid) {
        atomic_store(&lock->state, LOCK_GIVEN_UP);
    }
}

unsigned nest__region_mind(void) {
    if (!nest__region_pause()) {
        return 0;
    }
    if (!lock_said) {
        nest__say("a process died inside $lock: all workers end, and the variables of %%shared get "
                  "their initial values");
        lock_said = true;
    }
    for (uint32_t worker = 0; worker < nest__children_seen(); worker++) {
        pid_t pid = nest__child(worker)->pid;
        if (pid != 0) {
            kill(pid, SIGKILL);
        }
    }
    if (!nest__supervises_none()) {
        return 0; /* each end wakes the supervisor, which ends the service process as well */
    }
    nest__region_fresh();
    uint64_t now = nest__clock_ms();
    if (lock_fresh == 0 || now - lock_fresh >= LOCK_WELL_MS) { /* else it fails again and again */
        nest__children_hurry();
    }
    lock_fresh = now;
    lock_said = false;
    return 1; /* workers are forked with the next look */
}
