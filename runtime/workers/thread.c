/* thread.c: a thread of a thread server: it serves one client after another.
 *
 * Called by threads.c. State: the slot of the calling thread. Must not know the language, nor how
 * bytes are read.
 *
 * A thread that takes a client asks main for more if few wait. One whose client has left ends if
 * many do. */
#include "thread.h"
#include "../platform/platform.h"
#include "../service/proxied/proxied.h"
#include "supervisor.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREAD_RETRY_MS = 100 };

static struct {
    _Atomic uint32_t resting;
    pthread_mutex_t lock;
    pthread_cond_t over; /* of threads that wait for what is short: a connection has ended */
} thread_rests = {.lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER};

static _Thread_local struct nest__thread_slot *thread_self;

struct nest__worker *nest__worker(void) {
    return thread_self == NULL ? NULL : thread_self->worker;
}

void *nest__vars(const nest_session *s) {
    return nest__threads.slots[s->self.slot].vars;
}

struct nest__deadline_slot *nest__deadline_slot(void) {
    return nest__wake_fd == -1 ? &thread_self->limit : NULL; /* pipes: it minds its time itself */
}

void nest__watch_wake(void) {
    uint64_t one = 1;
    nest__write(nest__threads.wake, &one, sizeof one);
}

/* -- a thread -----------------------------------------------------------------------------------
 */

static void thread_slot_fd(struct nest__thread_slot *slot, int fd, uint8_t kind) {
    pthread_mutex_lock(&slot->lock);
    slot->fd = fd;
    slot->kind = kind;
    pthread_mutex_unlock(&slot->lock);
}

/* Until a connection has ended, or it is time to try again. */
static void thread_rest(int error) {
    struct timespec until;
    nest__scarce(&nest__threads.scarce, error);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += THREAD_RETRY_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    atomic_fetch_add(&thread_rests.resting, 1);
    pthread_mutex_lock(&thread_rests.lock);
    (void)pthread_cond_timedwait(&thread_rests.over, &thread_rests.lock, &until);
    pthread_mutex_unlock(&thread_rests.lock);
    atomic_fetch_sub(&thread_rests.resting, 1);
}

/* The connection is over. */
static void thread_leave(struct nest__thread_slot *slot, bool cut) {
    pthread_mutex_lock(&slot->lock);
    int fd = slot->fd;
    slot->fd = -1;
    if (cut && !slot->left) {
        nest__cut_add(1);
    }
    pthread_mutex_unlock(&slot->lock);
    close(fd);
    nest__released(&slot->session);
    nest__worker_rests(slot->worker);
    slot->session.self.gen++;
    if (atomic_load(&thread_rests.resting) > 0) {
        pthread_cond_signal(&thread_rests.over);
    }
}

static void thread_serve(struct nest__thread_slot *slot, const struct nest__arrival *arrival) {
    thread_slot_fd(slot, arrival->fd, arrival->kind); /* a stop from here on sees it, one before
                                                         is seen */
    thread_leave(slot, nest__serve(&slot->session, arrival, slot->buffer));
}

/* The C library gives a thread its part of the heap at its first allocation: now, ahead of the
 * client. */
static void thread_warm(void) {
    void *volatile first = malloc(1);
    free(first);
}

static void *thread_main(void *argument);

int nest__thread_create(struct nest__thread_slot *slot) {
    size_t least = PTHREAD_STACK_MIN, stack = NEST__THREAD_STACK;
    stack = stack > least ? stack : least;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0) {
        return -error;
    }
    atomic_fetch_add(&nest__threads.live, 1);
    atomic_fetch_add(&nest__threads.spares, 1);
    atomic_store(&slot->state, NEST__THREAD_RUNS);
    error = pthread_attr_setstacksize(&attributes, stack);
    if (error == 0) {
        error = pthread_create(&slot->thread, &attributes, thread_main, slot);
    }
    if (error != 0) {
        atomic_store(&slot->state, NEST__THREAD_NONE);
        atomic_fetch_sub(&nest__threads.spares, 1);
        atomic_fetch_sub(&nest__threads.live, 1);
    }
    pthread_attr_destroy(&attributes);
    return -error;
}

static void thread_ended(void) {
    nest__take_leave();
    nest__crash_leave();
    if (atomic_fetch_sub(&nest__threads.live, 1) == 1) {
        nest__watch_wake();
    }
}

/* The client's action has called pthread_exit. It has left its stack, so that END cannot run: the
 * connection is closed, and counted as if the action had crashed. */
static void thread_lost(void *argument) {
    struct nest__thread_slot *slot = argument;
    char peer[NEST__ADDRESS_TEXT];
    int error = 0;
    nest__client_text(&slot->session, peer, sizeof peer);
    /* Before the client can see its end: then the server may be stopped at once. */
    nest__say("an action ended its thread (pthread_exit), client %s; only this client is lost",
              peer);
    nest__lost_add();
    (void)nest__action_take();
    nest__on_wait(&slot->session);     /* for ever */
    slot->session.phase = NEST__ENDED; /* no memory of it is an action's any more */
    nest__watch_end(&slot->limit);
    nest__serve_lost(&slot->session);
    thread_leave(slot, false);
    pthread_detach(pthread_self());
    if (nest__threads.has_only) {
        atomic_store(&slot->state, NEST__THREAD_NONE);
    } else {
        pthread_mutex_lock(&slot->lock); /* of `thread` */
        error = nest__thread_create(slot);
        pthread_mutex_unlock(&slot->lock);
    }
    if (error != 0) {
        nest__say("no other thread takes the place of one that an action ended: %s",
                  strerror(-error));
    }
    thread_ended();
}

/* It has a client from now on. */
static void thread_taken(void) {
    uint32_t left = atomic_fetch_sub(&nest__threads.spares, 1) - 1;
    if (left * 2 < nest__spares_least() &&
        atomic_load(&nest__threads.live) < nest__config.max_clients &&
        !atomic_exchange(&nest__threads.wanted, true)) {
        nest__watch_wake();
    }
}

/* Its client has left. False: enough others wait. */
static bool thread_stays(void) {
    uint32_t spares = atomic_fetch_add(&nest__threads.spares, 1) + 1;
    return spares <= nest__spares_most() || atomic_load(&nest__stop) != NEST__SERVING;
}

static void thread_clients(struct nest__thread_slot *slot) {
    struct nest__arrival arrival;
    int error = 0;
    if (nest__threads.has_only) {
        thread_taken();
        thread_serve(slot, &nest__threads.only);
        (void)thread_stays();
        error = -EINVAL;
    }
    while (error != -EINVAL && atomic_load(&nest__stop) < NEST__CUTTING) {
        error = nest__take_any(&arrival);
        if (error == 0) {
            thread_taken();
            thread_serve(slot, &arrival);
            error = thread_stays() ? 0 : -EINVAL;
        } else if (error != -EAGAIN && error != -EINTR && error != -EINVAL) {
            thread_rest(error); /* descriptors or memory of the system are short */
        }
    }
    atomic_fetch_sub(&nest__threads.spares, 1);
}

static void *thread_main(void *argument) {
    struct nest__thread_slot *slot = argument;
    thread_self = slot;
    nest__crash_enter();
    thread_warm();
    (void)nest__worker_begin(slot->worker);
    pthread_cleanup_push(thread_lost, argument);
    thread_clients(slot);
    pthread_cleanup_pop(0);
    nest__worker_clear(slot->worker);
    atomic_store(&slot->state, NEST__THREAD_ENDED);
    thread_ended();
    return NULL;
}
