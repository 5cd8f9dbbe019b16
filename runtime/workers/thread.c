/* thread.c: threads made ahead, as many as clients are allowed, all in accept; the first thread
 * minds the time and the signals.
 *
 * Called by main. State: a slot per thread, its own but for `fd`, which main looks at under the
 * slot's lock: while it is held, the number is still this connection's. Must not know the language,
 * nor how bytes are read. */
#include "../engine/engine.h"
#include "../blocking/blocking.h"
#include "../blocking/watch.h"
#include "../platform/platform.h"
#include "idle_exit.h"
#include "supervisor.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    THREAD_STACK = 256 * 1024, /* beside thread-local storage; a guard page is below */
    THREAD_RETRY_MS = 100,
    THREAD_DESCRIPTORS = 16, /* beside connections and listeners */
};

struct thread_slot {
    alignas(64) nest_session session;
    struct nest__deadline_slot limit;
    pthread_mutex_t lock;
    int fd;       /* under lock; -1: no connection */
    uint8_t kind; /* of it */
    bool left;    /* under lock: counted among those that are cut, whatever it still does */
    bool gone;    /* its thread ended itself, and there is no other */
    pthread_t thread;
    struct nest__worker *worker;
    void *vars;
    uint8_t *buffer;
};

static struct {
    struct nest__watch watch;
    struct thread_slot *slots;
    uint32_t count;            /* threads made */
    _Atomic uint32_t live;     /* of them, not ended yet */
    int signals, wake;         /* descriptors: signalfd; eventfd for main */
    bool asked;                /* `wake` was written since the last look */
    struct nest__arrival only; /* inetd's */
    bool has_only;
    _Atomic uint32_t scarce; /* when it was said that accept cannot */
    _Atomic uint32_t resting;
    pthread_mutex_t rest_lock;
    pthread_cond_t rest; /* of threads that wait for what is short: a connection has ended */
} thread_pool = {.rest_lock = PTHREAD_MUTEX_INITIALIZER, .rest = PTHREAD_COND_INITIALIZER};

struct nest__watch *nest__watch = &thread_pool.watch;
static _Thread_local struct thread_slot *thread_self;

struct nest__worker *nest__worker(void) {
    return thread_self == NULL ? NULL : thread_self->worker;
}

void *nest__vars(const nest_session *s) {
    return thread_pool.slots[s->self.slot].vars;
}

struct nest__deadline_slot *nest__deadline_slot(void) {
    return nest__wake_fd == -1 ? &thread_self->limit : NULL; /* pipes: it minds its time itself */
}

void nest__watch_wake(void) {
    uint64_t one = 1;
    nest__write(thread_pool.wake, &one, sizeof one);
}

/* -- a thread -----------------------------------------------------------------------------------
 */

static void thread_slot_fd(struct thread_slot *slot, int fd, uint8_t kind) {
    pthread_mutex_lock(&slot->lock);
    slot->fd = fd;
    slot->kind = kind;
    pthread_mutex_unlock(&slot->lock);
}

/* Until a connection has ended, or it is time to try again. */
static void thread_rest(int error) {
    struct timespec until;
    nest__scarce(&thread_pool.scarce, error);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += THREAD_RETRY_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    atomic_fetch_add(&thread_pool.resting, 1);
    pthread_mutex_lock(&thread_pool.rest_lock);
    (void)pthread_cond_timedwait(&thread_pool.rest, &thread_pool.rest_lock, &until);
    pthread_mutex_unlock(&thread_pool.rest_lock);
    atomic_fetch_sub(&thread_pool.resting, 1);
}

/* The connection is over. */
static void thread_leave(struct thread_slot *slot, bool cut) {
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
    if (atomic_load(&thread_pool.resting) > 0) {
        pthread_cond_signal(&thread_pool.rest);
    }
}

static void thread_serve(struct thread_slot *slot, const struct nest__arrival *arrival) {
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

/* A thread of the pool, which is counted before it can end. 0 or -errno. */
static int thread_create(struct thread_slot *slot) {
    size_t stack = THREAD_STACK > PTHREAD_STACK_MIN ? THREAD_STACK : (size_t)PTHREAD_STACK_MIN;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0) {
        return -error;
    }
    atomic_fetch_add(&thread_pool.live, 1);
    error = pthread_attr_setstacksize(&attributes, stack);
    if (error == 0) {
        error = pthread_create(&slot->thread, &attributes, thread_main, slot);
    }
    if (error != 0) {
        atomic_fetch_sub(&thread_pool.live, 1);
    }
    pthread_attr_destroy(&attributes);
    return -error;
}

static void thread_ended(void) {
    nest__crash_leave();
    if (atomic_fetch_sub(&thread_pool.live, 1) == 1) {
        nest__watch_wake();
    }
}

/* The client's action has called pthread_exit. It has left its stack, so that END cannot run: the
 * connection is closed, and counted as if the action had crashed. */
static void thread_lost(void *argument) {
    struct thread_slot *slot = argument;
    char peer[NEST__ADDRESS_TEXT];
    int error = 0;
    nest__peer_text(&slot->session.c0, peer, sizeof peer);
    nest__lost_add();
    (void)nest__action_take();
    slot->session.phase = NEST__ENDED; /* no memory of it is an action's any more */
    nest__watch_end(&slot->limit);
    thread_leave(slot, false);
    if (!thread_pool.has_only) {
        pthread_detach(pthread_self());
        pthread_mutex_lock(&slot->lock); /* of `thread` */
        error = thread_create(slot);
        slot->gone = error != 0;
        pthread_mutex_unlock(&slot->lock);
    }
    nest__say("an action ended its thread (pthread_exit), client %s; only this client is lost%s%s",
              peer, error != 0 ? ", but there is no other thread: " : "",
              error != 0 ? strerror(-error) : "");
    thread_ended();
}

static void thread_clients(struct thread_slot *slot) {
    struct nest__arrival arrival;
    int error = 0;
    if (thread_pool.has_only) {
        thread_serve(slot, &thread_pool.only);
        error = -EINVAL;
    }
    while (error != -EINVAL && atomic_load(&nest__stop) < NEST__CUTTING) {
        error = nest__take_any(&arrival);
        if (error == 0) {
            thread_serve(slot, &arrival);
        } else if (error != -EAGAIN && error != -EINTR && error != -EINVAL) {
            thread_rest(error); /* descriptors or memory of the system are short */
        }
    }
}

static void *thread_main(void *argument) {
    thread_self = argument;
    nest__crash_enter();
    thread_warm();
    pthread_cleanup_push(thread_lost, argument);
    thread_clients(argument);
    pthread_cleanup_pop(0);
    thread_ended();
    return NULL;
}

/* -- main ---------------------------------------------------------------------------------------
 */

static void *thread_map(size_t n) {
    void *p =
        mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static size_t thread_round(size_t n) {
    return (n + 63) / 64 * 64;
}

/* One mapping of a kind for all threads: zeroed, and touched only by who needs it. */
static int thread_reserve(void) {
    size_t n = nest__config.max_clients;
    size_t worker = thread_round(sizeof(struct nest__worker));
    size_t vars = thread_round(nest__spec_vars_size);
    size_t buffer = thread_round(nest__receive_capacity());
    thread_pool.slots = thread_map(n * sizeof *thread_pool.slots);
    char *workers = thread_map(n * worker);
    char *slab = vars > 0 ? thread_map(n * vars) : NULL;
    uint8_t *buffers = thread_map(n * buffer);
    if (thread_pool.slots == NULL || workers == NULL || buffers == NULL ||
        (vars > 0 && slab == NULL)) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct thread_slot *slot = &thread_pool.slots[i];
        pthread_mutex_init(&slot->lock, NULL);
        slot->fd = -1;
        slot->session.self.slot = i;
        slot->worker = (struct nest__worker *)(void *)(workers + i * worker);
        slot->vars = vars > 0 ? slab + i * vars : NULL;
        slot->buffer = buffers + i * buffer;
    }
    return 0;
}

/* What comes to the descriptor alone. */
static void thread_mine(sigset_t *mine) {
    sigemptyset(mine);
    sigaddset(mine, SIGTERM);
    sigaddset(mine, SIGINT);
    sigaddset(mine, SIGHUP);
}

/* In a child that an action forked, and that may run no program of its own: clients would see no
 * end of a connection that it holds open, and what is blocked here nobody reads there. */
static void thread_forked(void) {
    sigset_t mine;
    thread_mine(&mine);
    pthread_sigmask(SIG_UNBLOCK, &mine, NULL);
    for (uint32_t i = 0; i < thread_pool.count; i++) {
        const struct thread_slot *slot = &thread_pool.slots[i]; /* nobody changes it here */
        if (slot->fd != -1 && slot->kind != NEST__PIPE) {
            close(slot->fd);
        }
    }
}

static int thread_spawn(void) {
    int error = -pthread_atfork(NULL, NULL, thread_forked);
    for (uint32_t i = 0; i < nest__config.max_clients && error == 0; i++) {
        error = thread_create(&thread_pool.slots[i]);
        if (error != 0) {
            nest__say("cannot start thread %u of %u: %s; lower maxClients", (unsigned)i + 1,
                      (unsigned)nest__config.max_clients, strerror(-error));
        } else {
            thread_pool.count++;
        }
    }
    return error;
}

/* For nest__wake_receiver: interrupts what restarts. */
static void thread_on_wake(int signal) {
    (void)signal;
}

/* Threads inherit the mask: TERM, INT and HUP come to the descriptor alone. */
static int thread_signals(void) {
    struct sigaction wake = {.sa_handler = thread_on_wake, .sa_flags = (int)SA_RESTART};
    sigset_t mine;
    sigaction(SIGURG, &wake, NULL);
    sigemptyset(&mine);
    sigaddset(&mine, SIGURG);
    pthread_sigmask(SIG_UNBLOCK, &mine, NULL);
    thread_mine(&mine);
    int error = pthread_sigmask(SIG_BLOCK, &mine, NULL);
    thread_pool.signals = signalfd(-1, &mine, SFD_NONBLOCK | SFD_CLOEXEC);
    thread_pool.wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return error != 0 ? -error : thread_pool.signals == -1 || thread_pool.wake == -1 ? -errno : 0;
}

unsigned nest__worker_needs(struct nest__need needs[NEST__NEEDS]) {
    uint64_t stack = 16 * 1024; /* little of it is touched as a rule */
    uint64_t slot = sizeof(struct thread_slot), scratch = sizeof(struct nest__worker);
    uint64_t buffer = nest__receive_capacity();
    needs[0] = (struct nest__need){"its thread's record", NULL, slot, slot};
    needs[1] = (struct nest__need){"room for matching", NULL, scratch, scratch};
    needs[2] = (struct nest__need){"receive buffer", "inputBuffer", buffer, buffer};
    needs[3] = (struct nest__need){"stack of an action", NULL, THREAD_STACK, stack};
    return 4;
}

uint32_t nest__worker_threads(void) {
    return nest__config.max_clients;
}

uint32_t nest__worker_processes(void) {
    return 1;
}

int nest__workers_prepare(void) {
    uint64_t fixed = NEST__LISTEN_MAX + THREAD_DESCRIPTORS;
    uint64_t clients = nest__config.max_clients;
    int error = nest__descriptors_budget(clients * nest__session_descriptors(false) + fixed,
                                         clients * nest__session_descriptors(true) + fixed);
    if (error != 0 || (error = nest__supervisor_prepare(1)) != 0) {
        return error;
    }
    error = thread_reserve();
    if (error != 0) {
        nest__say("cannot prepare %u clients: %s; lower maxClients",
                  (unsigned)nest__config.max_clients, strerror(-error));
    }
    return error;
}

/* Under the slot's lock. Its thread has not been joined, so that the signal finds it. */
static void thread_wake(struct thread_slot *slot) {
    if (slot->fd != -1 && slot->kind != NEST__PIPE) {
        nest__wake_receiver(slot->fd);
        nest__on_nudge(slot->session.self.slot);
        pthread_kill(slot->thread, SIGURG);
    }
}

static void thread_wake_all(void) {
    uint64_t one = 1;
    if (nest__wake_fd != -1) {
        nest__write(nest__wake_fd, &one, sizeof one);
    }
    for (uint32_t i = 0; i < thread_pool.count; i++) {
        struct thread_slot *slot = &thread_pool.slots[i];
        pthread_mutex_lock(&slot->lock);
        thread_wake(slot);
        pthread_mutex_unlock(&slot->lock);
    }
}

/* The watcher: wakes whose time has come. ms until the next, -1: none. */
static int thread_look(void) {
    int timeout;
    if (!nest__look_due(thread_pool.asked, &timeout)) {
        return timeout;
    }
    thread_pool.asked = false;
    struct nest__look look = nest__look_begin();
    for (uint32_t i = 0; i < thread_pool.count; i++) {
        struct thread_slot *slot = &thread_pool.slots[i];
        if (nest__look_at(&look, &slot->limit)) {
            pthread_mutex_lock(&slot->lock);
            thread_wake(slot);
            pthread_mutex_unlock(&slot->lock);
        }
    }
    return nest__look_end(&look);
}

enum thread_asked { THREAD_NOTHING, THREAD_RELOAD, THREAD_STOP };

/* Sleeps until something is to be done, at most `timeout` ms (-1: for ever). */
static enum thread_asked thread_sleep(int timeout) {
    struct pollfd ready[2] = {{.fd = thread_pool.signals, .events = POLLIN},
                              {.fd = thread_pool.wake, .events = POLLIN}};
    struct signalfd_siginfo info;
    enum thread_asked asked = THREAD_NOTHING;
    uint64_t wakes;
    if (poll(ready, 2, nest__beat(timeout)) <= 0) {
        return THREAD_NOTHING;
    }
    if (ready[0].revents != 0 &&
        read(thread_pool.signals, &info, sizeof info) == (ssize_t)sizeof info) {
        asked = !nest__heeds((int)info.ssi_signo) ? THREAD_NOTHING
                : info.ssi_signo == SIGHUP        ? THREAD_RELOAD
                                                  : THREAD_STOP;
    }
    if (ready[1].revents != 0) {
        (void)!read(thread_pool.wake, &wakes, sizeof wakes);
        thread_pool.asked = true;
    }
    return asked;
}

/* How many connections there are. */
static uint32_t thread_busy(void) {
    uint32_t busy = 0;
    for (uint32_t i = 0; i < thread_pool.count; i++) {
        struct thread_slot *slot = &thread_pool.slots[i];
        pthread_mutex_lock(&slot->lock);
        busy += slot->fd != -1;
        pthread_mutex_unlock(&slot->lock);
    }
    return busy;
}

/* Until TERM, INT, the end of the last thread, or nobody needs the server. */
static void thread_work(void) {
    struct nest__idle_exit idle = {0};
    uint32_t limit = nest__listen_idle_exit();
    while (atomic_load(&thread_pool.live) > 0) {
        int timeout = thread_look();
        if (limit > 0) {
            bool busy = thread_busy() > 0;
            if (nest__idle_exit_due(&idle, limit, busy, nest__ended_all(), &timeout)) {
                return;
            }
        }
        switch (thread_sleep(timeout)) {
        case THREAD_RELOAD:
            nest__reload_follow();
            break;
        case THREAD_STOP:
            return;
        case THREAD_NOTHING:
            break;
        }
    }
}

/* Threads whose actions go on end with the process; main would wait for ever otherwise. */
static void thread_abandon(void) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < thread_pool.count; i++) {
        struct thread_slot *slot = &thread_pool.slots[i];
        pthread_mutex_lock(&slot->lock);
        slot->left = slot->fd != -1;
        left += slot->left;
        pthread_mutex_unlock(&slot->lock);
    }
    nest__cut_add(left); /* and they stay counted among the open */
    nest__stop_abandon(left);
}

/* Every thread with a connection learns of a new phase. It is stored first: a thread that takes its
 * connection after the look at its slot finds it. */
static void thread_stop(struct nest__stop_state *stop, enum nest__stop_event event) {
    if (nest__stop_move(stop, event, nest__clock_ms())) {
        if (stop->phase == NEST__FINISHED) {
            thread_abandon();
        } else {
            atomic_store(&nest__stop, (int)stop->phase);
            thread_wake_all();
        }
    }
}

/* From the first request until all threads have ended, or the rest is abandoned: the phase in which
 * that was. In the cut, threads are woken again and again: a signal may come just before a poll. */
static enum nest__stop_phase thread_end(void) {
    struct nest__stop_state stop = {.role = NEST__STOP_THREADS};
    (void)nest__listen_stop();
    thread_stop(&stop, NEST__STOP_REQUESTED);
    while (atomic_load(&thread_pool.live) > 0 && stop.phase != NEST__FINISHED) {
        int timeout = thread_look(), left = nest__stop_left(&stop, nest__clock_ms());
        if (left == 0) {
            thread_stop(&stop, NEST__STOP_LATE);
            continue;
        }
        if (stop.phase == NEST__CUTTING) {
            thread_wake_all();
            timeout = nest__sooner(timeout, NEST__NUDGE_MS);
        }
        if (thread_sleep(nest__sooner(timeout, left)) == THREAD_STOP) {
            thread_stop(&stop, NEST__STOP_REQUESTED);
        }
    }
    return stop.phase;
}

/* In the process that serves. */
static int thread_run(void) {
    nest__crash_install("server", nest__crash_consequence());
    thread_pool.has_only = nest__take_only(&thread_pool.only, false);
    if (thread_pool.has_only && thread_pool.only.kind == NEST__PIPE) {
        nest__wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    }
    int error = thread_signals();
    if (error != 0) {
        nest__say("cannot start: %s", strerror(-error));
    }
    if (error != 0 || thread_spawn() != 0) {
        return EXIT_FAILURE;
    }
    thread_work();
    enum nest__stop_phase phase = thread_end();
    if (phase == NEST__FINISHED) {
        return nest__stop_status(phase);
    }
    for (uint32_t i = 0; i < thread_pool.count; i++) {
        if (!thread_pool.slots[i].gone) {
            pthread_join(thread_pool.slots[i].thread, NULL);
        }
        nest__worker_clear(thread_pool.slots[i].worker);
    }
    return nest__stop_status(phase);
}

int nest__serve_alone(void) {
    return thread_run();
}

int nest__serve_worker(uint32_t worker, uint32_t life, const sigset_t *mask) {
    (void)worker, (void)life, (void)mask;
    return thread_run();
}

int nest__workers_run(void) {
    return nest__supervise();
}
