/* pool.c: the threads on which actions run, and the jobs that wait for them.
 *
 * Called by processors.c and the loop. State: of the process's one loop: its threads, and the jobs
 * that wait for one of them; those that nobody has begun are in loop/jobs.c. The loop hands jobs
 * over in batches, before it sleeps. A job that is done goes to the loop like one of a helper.
 * There are as many threads as the option says at least; further ones are made when jobs find no
 * idle one, up to its maximum, and stay. */
#include "pool.h"
#include "../../engine/engine.h" /* the size of a worker, nothing else */
#include "../../loop/jobs.h"
#include "../../platform/platform.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { POOL_STACK = 128 * 1024, /* actions have stacks of their own */ POOL_MOST = 64 };

struct pool_list { /* first in, first out */
    struct nest__job *first, **last;
};

struct nest__processor {
    pthread_t id;
    struct nest__worker *worker;
    uint32_t number;      /* from 1: the loop is 0 */
    struct pool_list own; /* jobs that it has begun */
    bool idle;
    bool before; /* its last job was one of `own` */
};

/* scope: process */
static struct {
    pthread_mutex_t lock; /* protects everything down to `ending`, and NEST__JOBS_PROCESSORS */
    pthread_cond_t wanted;
    struct nest__queued *oldest, *newest; /* of all jobs that wait */
    uint32_t waiting;                     /* jobs that nobody has begun */
    uint32_t count, idle;                 /* threads; idle threads */
    bool ending;
    struct nest__processor *threads; /* `most` entries; NULL: none */
    uint32_t least, most;
    bool tried;             /* to make the first threads; used by the loop, as this: */
    struct pool_list batch; /* jobs since the last nest__processors_flush */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .wanted = PTHREAD_COND_INITIALIZER};

static void pool_append(struct pool_list *list, struct nest__job *job) {
    job->next = NULL;
    if (list->first == NULL) {
        list->first = job;
    } else {
        *list->last = job;
    }
    list->last = &job->next;
}

static struct nest__job *pool_first(struct pool_list *list) {
    struct nest__job *job = list->first;
    if (job != NULL) {
        list->first = job->next;
    }
    return job;
}

/* The caller holds the lock, as for the next one. */
static void pool_queue(struct nest__job *job, uint64_t now) {
    struct nest__queued *queued = nest__processors_queued(job);
    *queued = (struct nest__queued){.older = pool.newest, .since = now};
    if (pool.newest == NULL) {
        pool.oldest = queued;
    } else {
        pool.newest->newer = queued;
    }
    pool.newest = queued;
}

static void pool_unqueue(struct nest__job *job) {
    const struct nest__queued *queued = nest__processors_queued(job);
    if (queued->older == NULL) {
        pool.oldest = queued->newer;
    } else {
        queued->older->newer = queued->newer;
    }
    if (queued->newer == NULL) {
        pool.newest = queued->older;
    } else {
        queued->newer->older = queued->older;
    }
}

/* -- the option */

/* Reads "N" or "N..M". */
static bool pool_range(const char *text, uint32_t *least, uint32_t *most) {
    unsigned a, b;
    int n = 0;
    if (text[0] < '0' || text[0] > '9' || strlen(text) > 16) {
        return false;
    }
    if (sscanf(text, "%2u%n", &a, &n) == 1 && text[n] == '\0') {
        b = a;
    } else if (n == 0 || strncmp(text + n, "..", 2) != 0 || text[n + 2] < '0' ||
               text[n + 2] > '9') {
        return false;
    } else {
        int m = 0;
        if (sscanf(text + n + 2, "%2u%n", &b, &m) != 1 || text[n + 2 + m] != '\0') {
            return false;
        }
    }
    *least = a;
    *most = b;
    return a >= 1 && a <= b && b <= POOL_MOST;
}

int nest__processors_valid(const char *text, char *reason) {
    uint32_t least, most;
    if (strcmp(text, "none") == 0 || pool_range(text, &least, &most)) {
        return 0;
    }
    snprintf(reason, 256,
             "'%.40s' is no number of threads; write 4, or 2..8, each from 1 to %d, or none", text,
             (int)POOL_MOST);
    return -EINVAL;
}

uint32_t nest__processors_most(void) {
    uint32_t least, most;
    const char *option = nest__config.processors;
    return option != NULL && pool_range(option, &least, &most) ? most : 0;
}

/* -- a thread */

/* The caller holds the lock. New jobs and those that it has begun take turns. */
static struct nest__job *pool_take(struct nest__processor *self) {
    bool own = self->own.first != NULL && (!self->before || pool.waiting == 0);
    struct nest__job *job = own ? pool_first(&self->own) : nest__jobs_take(NEST__JOBS_PROCESSORS);
    self->before = own;
    pool.waiting -= job != NULL && !own;
    if (job != NULL) {
        pool_unqueue(job);
    }
    return job;
}

static void *pool_main(void *argument) {
    struct nest__processor *self = argument;
    nest__crash_enter();
    nest__crash_keep_thread(true); /* its clients would never be served */
    nest__processors_enter(self->worker, self->number);
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        struct nest__job *job = pool_take(self);
        if (job != NULL) {
            bool more = pool.waiting > 0 && pool.idle > 0; /* the loop has woken one */
            pthread_mutex_unlock(&pool.lock);
            if (more) {
                pthread_cond_signal(&pool.wanted);
            }
            nest__processors_take(job, self);
            job->result = job->work(job->arg);
            nest__help_done(job);
            pthread_mutex_lock(&pool.lock);
        } else if (pool.ending) {
            break;
        } else {
            self->idle = true;
            pool.idle++;
            pthread_cond_wait(&pool.wanted, &pool.lock);
            pool.idle--;
            self->idle = false;
        }
    }
    pthread_mutex_unlock(&pool.lock);
    nest__crash_keep_thread(false);
    nest__crash_leave();
    return NULL;
}

static struct nest__worker *pool_worker(void) {
    void *made = mmap(NULL, sizeof(struct nest__worker), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) {
        return NULL;
    }
    if (nest__worker_begin(made) < 0) {
        munmap(made, sizeof(struct nest__worker));
        return NULL;
    }
    return made;
}

static void pool_worker_end(struct nest__worker *worker) {
    nest__worker_clear(worker);
    munmap(worker, sizeof *worker);
}

/* Makes a thread, with the loop's signals, which programs that actions start inherit. The caller
 * holds the lock. */
static bool pool_make(void) {
    struct nest__processor *fresh = &pool.threads[pool.count];
    pthread_attr_t attributes;
    bool made = false;
    fresh->number = pool.count + 1;
    if ((fresh->worker = pool_worker()) == NULL) {
        return false;
    }
    if (pthread_attr_init(&attributes) == 0) {
        made = pthread_attr_setstacksize(&attributes, POOL_STACK) == 0 &&
               pthread_create(&fresh->id, &attributes, pool_main, fresh) == 0;
        pthread_attr_destroy(&attributes);
    }
    if (!made) {
        pool_worker_end(fresh->worker);
    }
    pool.count += made;
    return made;
}

/* -- the loop's side */

static void pool_begin(void) {
    uint32_t least, most;
    pool.tried = true;
    if (nest__config.processors == NULL || !pool_range(nest__config.processors, &least, &most)) {
        return; /* none */
    }
    pool.threads = calloc(most, sizeof *pool.threads);
    if (pool.threads != NULL) {
        pool.most = most;
        pthread_mutex_lock(&pool.lock);
        while (pool.count < least && pool_make()) {
        }
        pthread_mutex_unlock(&pool.lock);
    }
    if (pool.count < least) {
        nest__say("only %u of %u threads of option processors could be made", (unsigned)pool.count,
                  (unsigned)least);
    }
}

bool nest__processors_ready(void) {
    if (!pool.tried) {
        pool_begin();
    }
    return pool.count > 0;
}

void nest__processors_add(struct nest__job *job) {
    pool_append(&pool.batch, job);
}

void nest__processors_flush(void) {
    struct nest__job *job;
    bool called = false; /* an idle thread has got a job of its own */
    if (pool.batch.first == NULL) {
        return;
    }
    uint64_t now = nest__clock_us();
    pthread_mutex_lock(&pool.lock);
    while ((job = pool_first(&pool.batch)) != NULL) {
        struct nest__processor *owner = nest__processors_of(job);
        pool_queue(job, now);
        if (owner == NULL) {
            nest__jobs_add(NEST__JOBS_PROCESSORS, job);
            pool.waiting++;
        } else {
            pool_append(&owner->own, job);
            called = called || owner->idle;
        }
    }
    if (pool.waiting > pool.idle && pool.count < pool.most) {
        (void)pool_make();
    }
    bool wake = pool.idle > 0 && pool.waiting > 0;
    pthread_mutex_unlock(&pool.lock);
    if (called) { /* which of them is the one, the condition does not know */
        pthread_cond_broadcast(&pool.wanted);
    } else if (wake) {
        pthread_cond_signal(&pool.wanted);
    }
}

uint32_t nest__processors_waiting(void) {
    pthread_mutex_lock(&pool.lock);
    uint32_t waiting = pool.waiting;
    pthread_mutex_unlock(&pool.lock);
    return waiting;
}

uint64_t nest__processors_waited(uint64_t now) {
    if (pool.threads == NULL) {
        return 0;
    }
    pthread_mutex_lock(&pool.lock);
    uint64_t since = pool.oldest != NULL ? pool.oldest->since : now;
    pthread_mutex_unlock(&pool.lock);
    return now > since ? now - since : 0;
}

void nest__processors_end(void) {
    pthread_mutex_lock(&pool.lock);
    pool.ending = true;
    pthread_cond_broadcast(&pool.wanted);
    pthread_mutex_unlock(&pool.lock);
    for (uint32_t i = 0; i < pool.count; i++) {
        pthread_join(pool.threads[i].id, NULL);
        pool_worker_end(pool.threads[i].worker);
    }
    free(pool.threads);
    pool.threads = NULL;
    pool.count = pool.most = 0;
}
