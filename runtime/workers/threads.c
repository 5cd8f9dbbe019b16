/* threads.c: the pool of a thread server: threads wait for clients, as many as its bounds say; the
 * first thread minds the time and the signals.
 *
 * Called by main. State: the pool. Must not know the language, nor what a thread does. */
#include "../platform/platform.h"
#include "idle_exit.h"
#include "supervisor.h"
#include "thread.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    THREADS_DESCRIPTORS = 16, /* beside connections and listeners */
    THREADS_RETRY_MS = 1000   /* after a thread could not be started */
};

struct nest__thread_pool nest__threads = {.wake = -1};
struct nest__watch *nest__watch = &nest__threads.watch;

static struct {
    uint32_t seen; /* slots below have been used */
    int signals;   /* signalfd */
    bool asked;    /* `wake` was written since the last look */
} threads;

uint32_t nest__spares_least(void) {
    uint32_t least = atomic_load(&nest__config.min_spare);
    return least < nest__config.max_clients ? least : nest__config.max_clients;
}

uint32_t nest__spares_most(void) {
    uint32_t least = nest__spares_least(), most = atomic_load(&nest__config.max_spare);
    return most < least ? least : most;
}

static void *threads_map(size_t n) {
    void *p =
        mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static size_t threads_round(size_t n) {
    return (n + 63) / 64 * 64;
}

/* One mapping of a kind for all threads: zeroed, and touched only by who needs it. */
static int threads_reserve(void) {
    size_t n = nest__config.max_clients;
    size_t worker = threads_round(sizeof(struct nest__worker));
    size_t vars = threads_round(nest__spec_vars_size);
    size_t buffer = threads_round(nest__receive_capacity());
    nest__threads.slots = threads_map(n * sizeof *nest__threads.slots);
    char *workers = threads_map(n * worker);
    char *slab = vars > 0 ? threads_map(n * vars) : NULL;
    uint8_t *buffers = threads_map(n * buffer);
    if (nest__threads.slots == NULL || workers == NULL || buffers == NULL ||
        (vars > 0 && slab == NULL)) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct nest__thread_slot *slot = &nest__threads.slots[i];
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
static void threads_mine(sigset_t *mine) {
    sigemptyset(mine);
    sigaddset(mine, SIGTERM);
    sigaddset(mine, SIGINT);
    sigaddset(mine, SIGHUP);
}

/* In a child that an action forked, and that may run no program of its own: clients would see no
 * end of a connection that it holds open, and what is blocked here nobody reads there. */
static void threads_forked(void) {
    sigset_t mine;
    threads_mine(&mine);
    pthread_sigmask(SIG_UNBLOCK, &mine, NULL);
    for (uint32_t i = 0; i < threads.seen; i++) {
        const struct nest__thread_slot *slot = &nest__threads.slots[i]; /* nobody changes it here */
        if (slot->fd != -1 && slot->kind != NEST__PIPE) {
            close(slot->fd);
        }
    }
}

/* A slot without a thread; one that has ended is joined. NULL: each has one. */
static struct nest__thread_slot *threads_free(uint32_t from) {
    for (uint32_t i = from; i < nest__config.max_clients; i++) {
        struct nest__thread_slot *slot = &nest__threads.slots[i];
        uint8_t state = atomic_load(&slot->state);
        if (state == NEST__THREAD_ENDED) {
            pthread_join(slot->thread, NULL);
        }
        if (state != NEST__THREAD_RUNS) {
            atomic_store(&slot->state, NEST__THREAD_NONE);
            return slot;
        }
    }
    return NULL;
}

/* Starts threads until enough wait for clients. 0, or -errno: one cannot be started. */
static int threads_grow(void) {
    struct nest__thread_slot *slot = nest__threads.slots - 1;
    int error = 0;
    atomic_store(&nest__threads.wanted, false); /* who takes a client from here on asks again */
    while (error == 0 && atomic_load(&nest__threads.spares) < nest__spares_least() &&
           atomic_load(&nest__threads.live) < nest__config.max_clients &&
           (slot = threads_free((uint32_t)(slot + 1 - nest__threads.slots))) != NULL) {
        uint32_t number = (uint32_t)(slot - nest__threads.slots);
        threads.seen = number < threads.seen ? threads.seen : number + 1;
        error = nest__thread_create(slot);
    }
    return error;
}

static int threads_begin(void) {
    int error = -pthread_atfork(NULL, NULL, threads_forked);
    error = error == 0 ? threads_grow() : error;
    if (error != 0) {
        nest__say("cannot start thread %u: %s; lower minSpare", (unsigned)threads.seen,
                  strerror(-error));
    }
    return error;
}

/* For nest__wake_receiver: interrupts what restarts. */
static void threads_on_wake(int signal) {
    (void)signal;
}

/* Threads inherit the mask: TERM, INT and HUP come to the descriptor alone. */
static int threads_signals(void) {
    struct sigaction wake = {.sa_handler = threads_on_wake, .sa_flags = (int)SA_RESTART};
    sigset_t mine;
    sigaction(SIGURG, &wake, NULL);
    sigemptyset(&mine);
    sigaddset(&mine, SIGURG);
    pthread_sigmask(SIG_UNBLOCK, &mine, NULL);
    threads_mine(&mine);
    int error = pthread_sigmask(SIG_BLOCK, &mine, NULL);
    threads.signals = signalfd(-1, &mine, SFD_NONBLOCK | SFD_CLOEXEC);
    nest__threads.wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return error != 0 ? -error : threads.signals == -1 || nest__threads.wake == -1 ? -errno : 0;
}

unsigned nest__worker_needs(struct nest__need needs[NEST__NEEDS]) {
    uint64_t stack = 16 * 1024; /* little of it is touched as a rule */
    uint64_t slot = sizeof(struct nest__thread_slot), scratch = sizeof(struct nest__worker);
    uint64_t buffer = nest__receive_capacity();
    needs[0] = (struct nest__need){"its thread's record", NULL, slot, slot};
    needs[1] = (struct nest__need){"room for matching", NULL, scratch, scratch};
    needs[2] = (struct nest__need){"receive buffer", "inputBuffer", buffer, buffer};
    needs[3] = (struct nest__need){"stack of an action", NULL, NEST__THREAD_STACK, stack};
    return 4;
}

uint32_t nest__worker_threads(void) {
    return nest__config.max_clients;
}

uint32_t nest__worker_processes(void) {
    return 1;
}

int nest__workers_prepare(void) {
    uint64_t fixed = NEST__LISTEN_MAX + THREADS_DESCRIPTORS;
    uint64_t clients = nest__config.max_clients;
    int error = nest__descriptors_budget(clients * nest__session_descriptors(false) + fixed,
                                         clients * nest__session_descriptors(true) + fixed);
    error = error == 0 ? nest__threads_budget(nest__config.max_clients, "thread") : error;
    if (error != 0 || (error = nest__supervisor_prepare(1)) != 0) {
        return error;
    }
    error = threads_reserve();
    if (error != 0) {
        nest__say("cannot prepare %u clients: %s; lower maxClients",
                  (unsigned)nest__config.max_clients, strerror(-error));
    }
    return error;
}

/* Under the slot's lock. Its thread has not been joined, so that the signal finds it. */
static void threads_wake(struct nest__thread_slot *slot) {
    if (slot->fd != -1 && slot->kind != NEST__PIPE) {
        nest__wake_receiver(slot->fd);
        nest__on_nudge(slot->session.self.slot);
        pthread_kill(slot->thread, SIGURG);
    }
}

static void threads_wake_all(void) {
    uint64_t one = 1;
    if (nest__wake_fd != -1) {
        nest__write(nest__wake_fd, &one, sizeof one);
    }
    for (uint32_t i = 0; i < threads.seen; i++) {
        struct nest__thread_slot *slot = &nest__threads.slots[i];
        pthread_mutex_lock(&slot->lock);
        threads_wake(slot);
        pthread_mutex_unlock(&slot->lock);
    }
}

/* The watcher: wakes whose time has come. ms until the next, -1: none. */
static int threads_look(void) {
    int timeout;
    if (!nest__look_due(threads.asked, &timeout)) {
        return timeout;
    }
    threads.asked = false;
    struct nest__look look = nest__look_begin();
    for (uint32_t i = 0; i < threads.seen; i++) {
        struct nest__thread_slot *slot = &nest__threads.slots[i];
        if (nest__look_at(&look, &slot->limit)) {
            pthread_mutex_lock(&slot->lock);
            threads_wake(slot);
            pthread_mutex_unlock(&slot->lock);
        }
    }
    return nest__look_end(&look);
}

enum threads_asked { THREADS_NOTHING, THREADS_RELOAD, THREADS_STOP };

/* Sleeps until something is to be done, at most `timeout` ms (-1: for ever). */
static enum threads_asked threads_sleep(int timeout) {
    struct pollfd ready[2] = {{.fd = threads.signals, .events = POLLIN},
                              {.fd = nest__threads.wake, .events = POLLIN}};
    struct signalfd_siginfo info;
    enum threads_asked asked = THREADS_NOTHING;
    uint64_t wakes;
    if (poll(ready, 2, nest__beat(timeout)) <= 0) {
        return THREADS_NOTHING;
    }
    if (((ready[0].revents | ready[1].revents) & POLLNVAL) != 0) {
        nest__closed_under();
    }
    if (ready[0].revents != 0 &&
        read(threads.signals, &info, sizeof info) == (ssize_t)sizeof info) {
        asked = !nest__heeds((int)info.ssi_signo) ? THREADS_NOTHING
                : info.ssi_signo == SIGHUP        ? THREADS_RELOAD
                                                  : THREADS_STOP;
    }
    if (ready[1].revents != 0) {
        (void)!read(nest__threads.wake, &wakes, sizeof wakes);
        threads.asked = true;
    }
    return asked;
}

/* How many connections there are. */
static uint32_t threads_busy(void) {
    uint32_t busy = 0;
    for (uint32_t i = 0; i < threads.seen; i++) {
        struct nest__thread_slot *slot = &nest__threads.slots[i];
        pthread_mutex_lock(&slot->lock);
        busy += slot->fd != -1;
        pthread_mutex_unlock(&slot->lock);
    }
    return busy;
}

/* Until TERM, INT, the end of the last thread, or nobody needs the server. */
static void threads_work(void) {
    struct nest__idle_exit idle = {0};
    uint32_t limit = nest__listen_idle_exit();
    while (atomic_load(&nest__threads.live) > 0) {
        int timeout = threads_look(), error = threads_grow();
        if (error != 0) {
            nest__scarce(&nest__threads.scarce, error);
            timeout = nest__sooner(timeout, THREADS_RETRY_MS);
        }
        if (limit > 0) {
            bool busy = threads_busy() > 0;
            if (nest__idle_exit_due(&idle, limit, busy, nest__ended_all(), &timeout)) {
                return;
            }
        }
        switch (threads_sleep(timeout)) {
        case THREADS_RELOAD:
            nest__reload_follow();
            break;
        case THREADS_STOP:
            return;
        case THREADS_NOTHING:
            break;
        }
    }
}

/* Threads whose actions go on end with the process; main would wait for ever otherwise. */
static void threads_abandon(void) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < threads.seen; i++) {
        struct nest__thread_slot *slot = &nest__threads.slots[i];
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
static void threads_stop(struct nest__stop_state *stop, enum nest__stop_event event) {
    if (nest__stop_move(stop, event, nest__clock_ms())) {
        if (stop->phase == NEST__FINISHED) {
            threads_abandon();
        } else {
            atomic_store(&nest__stop, (int)stop->phase);
            threads_wake_all();
        }
    }
}

/* From the first request until all threads have ended, or the rest is abandoned: the phase in which
 * that was. In the cut, threads are woken again and again: a signal may come just before a poll. */
static enum nest__stop_phase threads_end(void) {
    struct nest__stop_state stop = {.role = NEST__STOP_THREADS};
    (void)nest__listen_stop();
    threads_stop(&stop, NEST__STOP_REQUESTED);
    while (atomic_load(&nest__threads.live) > 0 && stop.phase != NEST__FINISHED) {
        int timeout = threads_look(), left = nest__stop_left(&stop, nest__clock_ms());
        if (left == 0) {
            threads_stop(&stop, NEST__STOP_LATE);
            continue;
        }
        if (stop.phase == NEST__CUTTING) {
            threads_wake_all();
            timeout = nest__sooner(timeout, NEST__NUDGE_MS);
        }
        if (threads_sleep(nest__sooner(timeout, left)) == THREADS_STOP) {
            threads_stop(&stop, NEST__STOP_REQUESTED);
        }
    }
    return stop.phase;
}

/* In the process that serves. */
static int threads_run(void) {
    nest__crash_install("server", nest__crash_consequence());
    nest__threads.has_only = nest__take_only(&nest__threads.only, false);
    if (nest__threads.has_only && nest__threads.only.kind == NEST__PIPE) {
        nest__wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    }
    int error = threads_signals();
    if (error != 0) {
        nest__say("cannot start: %s", strerror(-error));
    }
    if (error != 0 || threads_begin() != 0) {
        return EXIT_FAILURE;
    }
    threads_work();
    enum nest__stop_phase phase = threads_end();
    if (phase == NEST__FINISHED) {
        return nest__stop_status(phase);
    }
    for (uint32_t i = 0; i < threads.seen; i++) {
        if (atomic_load(&nest__threads.slots[i].state) == NEST__THREAD_ENDED) {
            pthread_join(nest__threads.slots[i].thread, NULL);
        }
    }
    return nest__stop_status(phase);
}

int nest__serve_alone(void) {
    return threads_run();
}

int nest__serve_worker(uint32_t worker, uint32_t life, const sigset_t *mask) {
    (void)worker, (void)life, (void)mask;
    return threads_run();
}

int nest__workers_run(void) {
    return nest__supervise();
}
