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
    pthread_cond_t wanted;
    struct helpers_list done;
    uint32_t count, idle; /* threads; idle threads */
    bool ending;
    struct nest__job *done_here; /* used by the loop only: taken from `done`, not yet returned */
    pthread_t *threads; /* nest__config.helpers entries; NULL before nest__helpers_prepare */
    int event;
} helpers = {.lock = PTHREAD_MUTEX_INITIALIZER, .wanted = PTHREAD_COND_INITIALIZER, .event = -1};

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

/* The caller holds the lock. Only the first job wakes the loop, which takes all of them. */
static void helpers_done(struct nest__job *job) {
    const uint64_t one = 1;
    bool first = helpers.done.first == NULL;
    helpers_append(&helpers.done, job);
    if (first) {
        nest__write(helpers.event, &one, sizeof one); /* the counter never fills */
    }
}

static void *helpers_main(void *argument) {
    (void)argument;
    nest__crash_enter();
    nest__crash_keep_thread(true); /* its job would never be done */
    pthread_mutex_lock(&helpers.lock);
    for (;;) {
        struct nest__job *job = nest__jobs_take();
        if (job != NULL) {
            (*helpers_queued)--;
            pthread_mutex_unlock(&helpers.lock);
            job->result = job->work(job->arg);
            pthread_mutex_lock(&helpers.lock);
            helpers_done(job);
        } else if (helpers.ending) {
            break;
        } else {
            helpers.idle++;
            pthread_cond_wait(&helpers.wanted, &helpers.lock);
            helpers.idle--;
        }
    }
    pthread_mutex_unlock(&helpers.lock);
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
    if (helpers.threads == NULL) {
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
        helpers.count +=
            pthread_create(&helpers.threads[helpers.count], &attributes, helpers_main, NULL) == 0;
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
        nest__jobs_add(job);
        (*helpers_queued)++;
        pthread_cond_signal(&helpers.wanted);
    }
    pthread_mutex_unlock(&helpers.lock);
    return error;
}

struct nest__job *nest__helped(void) {
    if (helpers.done_here == NULL) {
        uint64_t count; /* read first: jobs that end from here on wake the loop again */
        if (read(helpers.event, &count, sizeof count) == -1) {
            return NULL;
        }
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
    const uint64_t one = 1;
    pthread_mutex_lock(&helpers.lock);
    bool first = helpers.done.first == NULL;
    helpers_append(&helpers.done, job);
    pthread_mutex_unlock(&helpers.lock);
    if (first) { /* behind the lock: others who are done need not wait for the call */
        nest__write(helpers.event, &one, sizeof one);
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
    pthread_mutex_lock(&helpers.lock);
    helpers.ending = true;
    pthread_cond_broadcast(&helpers.wanted);
    pthread_mutex_unlock(&helpers.lock);
    for (uint32_t i = 0; i < helpers.count; i++) {
        pthread_join(helpers.threads[i], NULL);
    }
    free(helpers.threads);
    helpers.threads = NULL;
    helpers.count = 0;
    close(helpers.event);
    helpers.event = -1;
}
