/* helpers.c: threads that run work that would block a loop: files, and `$block`.
 *
 * Called by workers/loops.c and the files of loop/. State: one pool for the process's one loop:
 * jobs that are done, threads. Jobs that wait are in jobs.c. A thread is created when a job finds
 * no idle one, up to `helpers` threads, and never ends by itself; an idle thread sleeps. With
 * `completion sync` they are given nothing, and the loop does the work itself. Must not know what
 * the work is. */
#include "helpers.h"
#include "jobs.h"
#include "../platform/platform.h"
#include "../workers/context.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Enough for file calls and thread-local storage; an action in `$block` has its own stack. */
enum { HELPERS_STACK = 128 * 1024 };

struct helpers_list { /* first in, first out */
    struct nest__job *first, **last;
};

static struct {
    pthread_mutex_t lock; /* protects everything below except done_here */
    sem_t wanted; /* one for each job, and at the end for each thread; a condition variable would
                     cost a call more for each job */
    struct helpers_list done;
    uint32_t count, idle;        /* threads; those that have no job, or have yet to begin */
    struct nest__job *done_here; /* used by the loop only: taken from `done`, not yet returned */
    pthread_t *threads; /* nest__config.helpers entries; NULL before nest__helpers_prepare */
    int event;
} helpers = {.lock = PTHREAD_MUTEX_INITIALIZER, .event = -1};

static _Atomic uint32_t helpers_unwatched; /* scope: process; jobs, if nobody watches */
static _Atomic uint32_t *helpers_queued =
    &helpers_unwatched; /* scope: process; changed under lock */

static void helpers_append(struct helpers_list *list, struct nest__job *job) {
    job->next = NULL;
    if (list->first == NULL) {
        list->first = job;
    } else {
        *list->last = job;
    }
    list->last = &job->next;
}

/* The caller holds the lock. True: the loop must be woken, because it is told of the first job
 * alone, and takes all of them. */
static bool helpers_done(struct nest__job *job) {
    bool first = helpers.done.first == NULL;
    helpers_append(&helpers.done, job);
    return first;
}

/* Behind the lock, which the loop takes next. It need not read the counter: it is told of each
 * write. */
static void helpers_wake(void) {
    const uint64_t one = 1;
    nest__write(helpers.event, &one, sizeof one); /* the counter never fills */
}

static void *helpers_main(void *argument) {
    (void)argument;
    nest__crash_enter();
    nest__crash_keep_thread(true); /* its job would never be done */
    for (bool ends = false; !ends;) {
        while (sem_wait(&helpers.wanted) == -1) { /* EINTR */
        }
        pthread_mutex_lock(&helpers.lock);
        struct nest__job *job = nest__jobs_take(NEST__JOBS_HELPERS);
        helpers.idle--;
        *helpers_queued -= job != NULL;
        pthread_mutex_unlock(&helpers.lock);
        if (job != NULL) {
            job->result = job->work(job->arg);
        }
        pthread_mutex_lock(&helpers.lock);
        bool wakes = job != NULL && helpers_done(job);
        helpers.idle++;
        ends = job == NULL; /* the end comes behind all jobs */
        pthread_mutex_unlock(&helpers.lock);
        if (wakes) {
            helpers_wake();
        }
    }
    nest__worker_leave();
    nest__crash_keep_thread(false);
    nest__crash_leave();
    return NULL;
}

int nest__helpers_prepare(void) {
    if (helpers.threads != NULL) {
        return 0;
    }
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event == -1) {
        return -errno;
    }
    helpers.threads = calloc(nest__config.helpers, sizeof *helpers.threads);
    if (helpers.threads == NULL || sem_init(&helpers.wanted, 0, 0) == -1) {
        free(helpers.threads);
        helpers.threads = NULL;
        close(event);
        return -ENOMEM;
    }
    helpers.event = event;
    return 0;
}

int nest__helpers_fd(void) {
    return helpers.event;
}

/* Starts a thread. The caller holds the lock. The thread blocks all signals except its own faults.
 */
static void helpers_make(void) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
    pthread_attr_t attributes;
    sigset_t all, before;
    if (helpers.count >= nest__config.helpers || pthread_attr_init(&attributes) != 0) {
        return;
    }
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        sigdelset(&all,
                  faults[i]); /* if they were blocked, the process would end without a report */
    }
    if (pthread_attr_setstacksize(&attributes, HELPERS_STACK) == 0 &&
        pthread_sigmask(SIG_SETMASK, &all, &before) == 0) {
        bool made =
            pthread_create(&helpers.threads[helpers.count], &attributes, helpers_main, NULL) == 0;
        helpers.count += made;
        helpers.idle += made;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
}

int nest__help(struct nest__job *job) {
    int error = 0;
    if (nest__config.completion == NEST__COMPLETION_SYNC) {
        return -EAGAIN;
    }
    pthread_mutex_lock(&helpers.lock);
    if (helpers.threads != NULL && *helpers_queued >= helpers.idle) {
        helpers_make();
    }
    if (helpers.count == 0) {
        error = -EAGAIN;
    } else {
        nest__jobs_add(NEST__JOBS_HELPERS, job);
        (*helpers_queued)++;
    }
    pthread_mutex_unlock(&helpers.lock);
    if (error == 0) { /* behind the lock, which the thread takes next */
        sem_post(&helpers.wanted);
    }
    return error;
}

struct nest__job *nest__helped(void) {
    if (helpers.done_here == NULL) {
        pthread_mutex_lock(&helpers.lock);
        helpers.done_here = helpers.done.first;
        helpers.done.first = NULL;
        pthread_mutex_unlock(&helpers.lock);
    }
    struct nest__job *job = helpers.done_here;
    if (job != NULL) {
        helpers.done_here = job->next;
    }
    return job;
}

void nest__help_done(struct nest__job *job) {
    pthread_mutex_lock(&helpers.lock);
    bool first = helpers_done(job);
    pthread_mutex_unlock(&helpers.lock);
    if (first) {
        helpers_wake();
    }
}

void nest__helpers_watch(_Atomic uint32_t *place) {
    helpers_queued = place;
}

uint32_t nest__helpers_queued(void) {
    return atomic_load(helpers_queued);
}

void nest__helpers_end(void) {
    if (helpers.threads == NULL) {
        return;
    }
    for (uint32_t i = 0; i < helpers.count; i++) {
        sem_post(&helpers.wanted);
    }
    for (uint32_t i = 0; i < helpers.count; i++) {
        pthread_join(helpers.threads[i], NULL);
    }
    free(helpers.threads);
    helpers.threads = NULL;
    helpers.count = 0;
    helpers.idle = 0;
    sem_destroy(&helpers.wanted);
    close(helpers.event);
    helpers.event = -1;
}
