/* thread.c: threads made ahead, as many as clients are allowed, all in accept; the first thread
 * minds the time and the signals.
 *
 * Called by main. State: a seat per thread, its own but for `fd`, which main looks at under the
 * seat's lock: whoever holds it knows that the number is still this connection's. Must not know the
 * language, nor how bytes are read. */
#include "../engine/engine.h"
#include "../io/blocking.h"
#include "../io/watch.h"
#include "../platform/platform.h"
#include "patience.h"
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
    THREAD_GRACE_MS = 2000,    /* after the cut; threads that go on end with the process */
    THREAD_RETRY_MS = 100,
    THREAD_DESCRIPTORS = 16, /* beside connections and listeners */
};

_Atomic uint64_t *nest__ended;

struct thread_seat {
    alignas(64) nest_session session;
    struct nest__seat limit;
    pthread_mutex_t lock;
    int fd;       /* under lock; -1: no connection */
    uint8_t kind; /* of it */
    bool left;    /* under lock: counted among those that are cut, whatever it still does */
    pthread_t thread;
    struct nest__carrier *carrier;
    void *vars;
    uint8_t *buffer;
};

static struct {
    struct nest__watch watch;
    struct thread_seat *seats;
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
} thread_crew = {.rest_lock = PTHREAD_MUTEX_INITIALIZER, .rest = PTHREAD_COND_INITIALIZER};

struct nest__watch *nest__watch = &thread_crew.watch;
static _Thread_local struct thread_seat *thread_self;

struct nest__carrier *nest__carrier(void) {
    return thread_self == NULL ? NULL : thread_self->carrier;
}

void *nest__vars(const nest_session *s) {
    return thread_crew.seats[s->self.slot].vars;
}

struct nest__seat *nest__seat(void) {
    return nest__rouse_fd == -1 ? &thread_self->limit : NULL; /* pipes: it minds its time itself */
}

void nest__watch_wake(void) {
    uint64_t one = 1;
    nest__write(thread_crew.wake, &one, sizeof one);
}

uint64_t nest__cut(void) {
    return atomic_load(&nest__counts->cut);
}

/* -- a thread -----------------------------------------------------------------------------------
 */

static void thread_seat_fd(struct thread_seat *seat, int fd, uint8_t kind) {
    pthread_mutex_lock(&seat->lock);
    seat->fd = fd;
    seat->kind = kind;
    pthread_mutex_unlock(&seat->lock);
}

/* Until a connection has ended, or it is time to try again. */
static void thread_rest(int error) {
    struct timespec until;
    nest__scarce(&thread_crew.scarce, error);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += THREAD_RETRY_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    atomic_fetch_add(&thread_crew.resting, 1);
    pthread_mutex_lock(&thread_crew.rest_lock);
    (void)pthread_cond_timedwait(&thread_crew.rest, &thread_crew.rest_lock, &until);
    pthread_mutex_unlock(&thread_crew.rest_lock);
    atomic_fetch_sub(&thread_crew.resting, 1);
}

static void thread_serve(struct thread_seat *seat, const struct nest__arrival *arrival) {
    thread_seat_fd(seat, arrival->fd, arrival->kind); /* a stop from here on sees it, one before
                                                         is seen */
    bool cut = nest__serve(&seat->session, arrival, seat->buffer);
    pthread_mutex_lock(&seat->lock);
    seat->fd = -1;
    if (cut && !seat->left) {
        atomic_fetch_add(&nest__counts->cut, 1);
    }
    pthread_mutex_unlock(&seat->lock);
    close(arrival->fd);
    nest__released(&seat->session);
    nest__carrier_rests(seat->carrier);
    seat->session.self.gen++;
    if (atomic_load(&thread_crew.resting) > 0) {
        pthread_cond_signal(&thread_crew.rest);
    }
}

/* The C library gives a thread its part of the heap at its first allocation: now, ahead of the
 * client. */
static void thread_warm(void) {
    void *volatile first = malloc(1);
    free(first);
}

static void *thread_main(void *argument) {
    struct thread_seat *seat = argument;
    struct nest__arrival arrival;
    int error = 0;
    thread_self = seat;
    nest__crash_enter();
    thread_warm();
    if (thread_crew.has_only) {
        thread_serve(seat, &thread_crew.only);
        error = -EINVAL;
    }
    while (error != -EINVAL && atomic_load(&nest__stop) != NEST__CUT_OFF) {
        error = nest__take_any(&arrival);
        if (error == 0) {
            thread_serve(seat, &arrival);
        } else if (error != -EAGAIN && error != -EINTR && error != -EINVAL) {
            thread_rest(error); /* descriptors or memory of the system are short */
        }
    }
    nest__crash_leave();
    if (atomic_fetch_sub(&thread_crew.live, 1) == 1) {
        nest__watch_wake();
    }
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
    size_t carrier = thread_round(sizeof(struct nest__carrier));
    size_t vars = thread_round(nest__spec_vars_size);
    size_t buffer = thread_round(nest__receive_room());
    thread_crew.seats = thread_map(n * sizeof *thread_crew.seats);
    char *carriers = thread_map(n * carrier);
    char *slab = vars > 0 ? thread_map(n * vars) : NULL;
    uint8_t *buffers = thread_map(n * buffer);
    if (thread_crew.seats == NULL || carriers == NULL || buffers == NULL ||
        (vars > 0 && slab == NULL)) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct thread_seat *seat = &thread_crew.seats[i];
        pthread_mutex_init(&seat->lock, NULL);
        seat->fd = -1;
        seat->session.self.slot = i;
        seat->carrier = (struct nest__carrier *)(void *)(carriers + i * carrier);
        seat->vars = vars > 0 ? slab + i * vars : NULL;
        seat->buffer = buffers + i * buffer;
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
    for (uint32_t i = 0; i < thread_crew.count; i++) {
        const struct thread_seat *seat = &thread_crew.seats[i]; /* nobody changes it here */
        if (seat->fd != -1 && seat->kind != NEST__PIPE) {
            close(seat->fd);
        }
    }
}

static int thread_spawn(void) {
    pthread_attr_t attributes;
    size_t stack = THREAD_STACK > PTHREAD_STACK_MIN ? THREAD_STACK : (size_t)PTHREAD_STACK_MIN;
    int error = pthread_atfork(NULL, NULL, thread_forked);
    if (error == 0) {
        error = pthread_attr_init(&attributes);
    }
    if (error != 0) {
        return -error;
    }
    error = pthread_attr_setstacksize(&attributes, stack);
    for (uint32_t i = 0; i < nest__config.max_clients && error == 0; i++) {
        struct thread_seat *seat = &thread_crew.seats[i];
        seat->session.self.gen = nest__lives() * NEST__LIFE;
        atomic_fetch_add(&thread_crew.live, 1); /* before it can end */
        error = pthread_create(&seat->thread, &attributes, thread_main, seat);
        if (error != 0) {
            atomic_fetch_sub(&thread_crew.live, 1);
            nest__say("cannot start thread %u of %u: %s; lower maxClients", (unsigned)i + 1,
                      (unsigned)nest__config.max_clients, strerror(error));
        } else {
            thread_crew.count++;
        }
    }
    pthread_attr_destroy(&attributes);
    return -error;
}

/* For nest__rouse: interrupts what restarts. */
static void thread_on_rouse(int signal) {
    (void)signal;
}

/* Threads inherit the mask: TERM, INT and HUP come to the descriptor alone. */
static int thread_signals(void) {
    struct sigaction rouse = {.sa_handler = thread_on_rouse, .sa_flags = (int)SA_RESTART};
    sigset_t mine;
    sigaction(SIGURG, &rouse, NULL);
    sigemptyset(&mine);
    sigaddset(&mine, SIGURG);
    pthread_sigmask(SIG_UNBLOCK, &mine, NULL);
    thread_mine(&mine);
    int error = pthread_sigmask(SIG_BLOCK, &mine, NULL);
    thread_crew.signals = signalfd(-1, &mine, SFD_NONBLOCK | SFD_CLOEXEC);
    thread_crew.wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return error != 0 ? -error : thread_crew.signals == -1 || thread_crew.wake == -1 ? -errno : 0;
}

unsigned nest__carrier_needs(struct nest__need needs[NEST__NEEDS]) {
    uint64_t stack = 16 * 1024; /* little of it is touched as a rule */
    uint64_t seat = sizeof(struct thread_seat), scratch = sizeof(struct nest__carrier);
    uint64_t buffer = nest__receive_room();
    needs[0] = (struct nest__need){"its thread's record", NULL, seat, seat};
    needs[1] = (struct nest__need){"room for matching", NULL, scratch, scratch};
    needs[2] = (struct nest__need){"receive buffer", "inputBuffer", buffer, buffer};
    needs[3] = (struct nest__need){"stack of an action", NULL, THREAD_STACK, stack};
    return 4;
}

uint32_t nest__carrier_processes(void) {
    return 1;
}

int nest__crew_prepare(void) {
    uint64_t fixed = NEST__LISTEN_MAX + THREAD_DESCRIPTORS;
    uint64_t clients = nest__config.max_clients;
    int error = nest__descriptors_budget(clients * nest__session_descriptors(false) + fixed,
                                         clients * nest__session_descriptors(true) + fixed);
    if (error != 0 || (error = nest__supervisor_prepare()) != 0) {
        return error;
    }
    nest__ended = nest__counts->ended;
    error = thread_reserve();
    if (error != 0) {
        nest__say("no room for %u clients: %s; lower maxClients",
                  (unsigned)nest__config.max_clients, strerror(-error));
    }
    return error;
}

/* Under the seat's lock. Its thread has not been joined, so that the signal finds it. */
static void thread_rouse(struct thread_seat *seat) {
    if (seat->fd != -1 && seat->kind != NEST__PIPE) {
        nest__rouse(seat->fd);
        pthread_kill(seat->thread, SIGURG);
    }
}

static void thread_rouse_all(void) {
    uint64_t one = 1;
    if (nest__rouse_fd != -1) {
        nest__write(nest__rouse_fd, &one, sizeof one);
    }
    for (uint32_t i = 0; i < thread_crew.count; i++) {
        struct thread_seat *seat = &thread_crew.seats[i];
        pthread_mutex_lock(&seat->lock);
        thread_rouse(seat);
        pthread_mutex_unlock(&seat->lock);
    }
}

/* Every thread with a connection learns of the phase. It is raised first: a thread that takes its
 * connection after the look at its seat finds it raised. */
static void thread_raise(enum nest__stop_phase phase) {
    atomic_store(&nest__stop, (int)phase);
    thread_rouse_all();
}

/* The watcher: rouses whose time has come. ms until the next, -1: none. */
static int thread_look(void) {
    int timeout;
    if (!nest__look_due(thread_crew.asked, &timeout)) {
        return timeout;
    }
    thread_crew.asked = false;
    struct nest__look look = nest__look_begin();
    for (uint32_t i = 0; i < thread_crew.count; i++) {
        struct thread_seat *seat = &thread_crew.seats[i];
        if (nest__look_at(&look, &seat->limit)) {
            pthread_mutex_lock(&seat->lock);
            thread_rouse(seat);
            pthread_mutex_unlock(&seat->lock);
        }
    }
    return nest__look_end(&look);
}

enum thread_asked { THREAD_NOTHING, THREAD_RELOAD, THREAD_STOP };

/* Sleeps until something is to be done, at most `timeout` ms (-1: for ever). */
static enum thread_asked thread_sleep(int timeout) {
    struct pollfd ready[2] = {{.fd = thread_crew.signals, .events = POLLIN},
                              {.fd = thread_crew.wake, .events = POLLIN}};
    struct signalfd_siginfo info;
    enum thread_asked asked = THREAD_NOTHING;
    uint64_t wakes;
    if (poll(ready, 2, nest__beat(timeout)) <= 0) {
        return THREAD_NOTHING;
    }
    if (ready[0].revents != 0 &&
        read(thread_crew.signals, &info, sizeof info) == (ssize_t)sizeof info) {
        asked = !nest__heeds((int)info.ssi_signo) ? THREAD_NOTHING
                : info.ssi_signo == SIGHUP        ? THREAD_RELOAD
                                                  : THREAD_STOP;
    }
    if (ready[1].revents != 0) {
        (void)!read(thread_crew.wake, &wakes, sizeof wakes);
        thread_crew.asked = true;
    }
    return asked;
}

/* How many connections there are, and whether any has come or gone since. */
static uint32_t thread_busy(uint64_t *ended) {
    uint32_t busy = 0;
    *ended = 0;
    for (int reason = 0; reason < NEST_REASONS; reason++) {
        *ended += atomic_load(&nest__ended[reason]);
    }
    for (uint32_t i = 0; i < thread_crew.count; i++) {
        struct thread_seat *seat = &thread_crew.seats[i];
        pthread_mutex_lock(&seat->lock);
        busy += seat->fd != -1;
        pthread_mutex_unlock(&seat->lock);
    }
    return busy;
}

/* Until TERM, INT, the end of the last thread, or nobody needs the server. */
static void thread_work(void) {
    struct nest__patience patience = {0};
    uint32_t limit = nest__listen_patience();
    while (atomic_load(&thread_crew.live) > 0) {
        int timeout = thread_look();
        if (limit > 0) {
            uint64_t ended;
            bool busy = thread_busy(&ended) > 0;
            if (nest__patience_over(&patience, limit, busy, ended, &timeout)) {
                return;
            }
        }
        switch (thread_sleep(timeout)) {
        case THREAD_RELOAD:
            nest__config_reload();
            atomic_store(&nest__counts->drain_ms, nest__config.drain_timeout);
            break;
        case THREAD_STOP:
            return;
        case THREAD_NOTHING:
            break;
        }
    }
}

/* Until all threads have ended, at most `ms` (0: no limit) and until the next TERM. Behind a cut
 * they are roused until they have: a signal may come just before a poll. */
static void thread_await(uint32_t ms) {
    uint64_t begin = nest__clock_ms();
    while (atomic_load(&thread_crew.live) > 0) {
        int timeout = thread_look();
        if (atomic_load(&nest__stop) == NEST__CUT_OFF) {
            thread_rouse_all();
            timeout = nest__sooner(timeout, NEST__NUDGE_MS);
        }
        if (ms > 0) {
            uint64_t spent = nest__clock_ms() - begin;
            if (spent >= ms) {
                return;
            }
            timeout = nest__sooner(timeout, (int)(ms - spent));
        }
        if (thread_sleep(timeout) == THREAD_STOP) {
            return;
        }
    }
}

/* Threads whose actions go on take the process with them; main would wait for ever otherwise. */
static void thread_abandon(void) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < thread_crew.count; i++) {
        struct thread_seat *seat = &thread_crew.seats[i];
        pthread_mutex_lock(&seat->lock);
        seat->left = seat->fd != -1;
        left += seat->left;
        pthread_mutex_unlock(&seat->lock);
    }
    atomic_fetch_add(&nest__counts->cut, left); /* and they stay counted among the open */
    nest__say("%u %s did not end in time; the server ends without", (unsigned)left,
              left == 1 ? "action" : "actions");
}

/* In the process that serves. */
static int thread_run(void) {
    nest__crash_install("server", nest__crash_consequence());
    thread_crew.has_only = nest__take_only(&thread_crew.only, false);
    if (thread_crew.has_only && thread_crew.only.kind == NEST__PIPE) {
        nest__rouse_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    }
    int error = thread_signals();
    if (error != 0) {
        nest__say("cannot start: %s", strerror(-error));
    }
    if (error != 0 || thread_spawn() != 0) {
        return EXIT_FAILURE;
    }
    thread_work();
    (void)nest__listen_stop();
    thread_raise(NEST__DRAIN);
    thread_await(nest__config.drain_timeout);
    if (atomic_load(&thread_crew.live) > 0) {
        thread_raise(NEST__CUT_OFF);
        thread_await(THREAD_GRACE_MS);
    }
    if (atomic_load(&thread_crew.live) > 0) {
        thread_abandon();
        return NEST__ABANDONED;
    }
    for (uint32_t i = 0; i < thread_crew.count; i++) {
        pthread_join(thread_crew.seats[i].thread, NULL);
        nest__carrier_clear(thread_crew.seats[i].carrier);
    }
    return nest__cut() > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int nest__crew_run(void) {
    return nest__supervise(thread_run);
}
