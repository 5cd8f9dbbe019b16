/* thread.c: threads made ahead, as many as clients are allowed, all in accept.
 *
 * Called by main. State: a seat per thread, its own but for `fd`, which the stop looks at under the
 * seat's lock: whoever holds it knows that the number is still this connection's. Must not know the
 * language, nor how bytes are read. */
#include "../engine/engine.h"
#include "../io/blocking.h"
#include "../platform/platform.h"

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
    THREAD_CUT_MS = 4000,      /* after a stop's begin, connections are cut off */
    THREAD_STOP_MS = 5000,     /* and threads that go on all the same end with the process */
    THREAD_RETRY_MS = 100,
    THREAD_DESCRIPTORS = 16, /* beside connections and listeners */
};

_Atomic uint64_t *nest__ended;

struct thread_seat {
    alignas(64) nest_session session;
    pthread_mutex_t lock;
    int fd; /* under lock; -1: no connection */
    pthread_t thread;
    struct nest__carrier *carrier;
    void *vars;
    uint8_t *buffer;
};

static struct {
    _Atomic uint64_t ended[NEST_REASONS];
    struct thread_seat *seats;
    uint32_t count;        /* threads made */
    _Atomic uint32_t live; /* of them, not ended yet */
    int signals, over;     /* descriptors: signalfd; eventfd, written by the last thread */
    pthread_mutex_t gate;  /* held until the listeners are open */
} thread_crew = {.gate = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct thread_seat *thread_self;

struct nest__carrier *nest__carrier(void) {
    return thread_self == NULL ? NULL : thread_self->carrier;
}

void *nest__vars(const nest_session *s) {
    return thread_crew.seats[s->self.slot].vars;
}

/* -- a thread -----------------------------------------------------------------------------------
 */

static void thread_seat_fd(struct thread_seat *seat, int fd) {
    pthread_mutex_lock(&seat->lock);
    seat->fd = fd;
    pthread_mutex_unlock(&seat->lock);
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
    uint64_t one = 1;
    pthread_mutex_lock(&thread_crew.gate);
    pthread_mutex_unlock(&thread_crew.gate);
    thread_self = seat;
    nest__crash_enter();
    thread_warm();
    while (atomic_load(&nest__stop) == NEST__GO_ON) {
        int error = nest__take_any(&arrival);
        if (error == 0) {
            thread_seat_fd(seat, arrival.fd); /* a stop from here on sees it, one before is seen */
            nest__serve(&seat->session, &arrival, seat->buffer);
            thread_seat_fd(seat, -1);
            close(arrival.fd);
            nest__released(&seat->session);
            seat->session.self.gen++;
        } else if (error != -EAGAIN && error != -EINTR && error != -EINVAL) {
            (void)poll(NULL, 0,
                       THREAD_RETRY_MS); /* descriptors or memory of the system are short */
        }
    }
    nest__crash_leave();
    if (atomic_fetch_sub(&thread_crew.live, 1) == 1) {
        nest__write(thread_crew.over, &one, sizeof one);
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
    size_t buffer = thread_round(nest__config.input_buffer);
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

static int thread_spawn(void) {
    pthread_attr_t attributes;
    size_t stack = THREAD_STACK > PTHREAD_STACK_MIN ? THREAD_STACK : (size_t)PTHREAD_STACK_MIN;
    int error = pthread_attr_init(&attributes);
    if (error != 0) {
        return -error;
    }
    error = pthread_attr_setstacksize(&attributes, stack);
    for (uint32_t i = 0; i < nest__config.max_clients && error == 0; i++) {
        struct thread_seat *seat = &thread_crew.seats[i];
        error = pthread_create(&seat->thread, &attributes, thread_main, seat);
        if (error != 0) {
            nest__say("cannot start thread %u of %u: %s; lower maxClients", (unsigned)i + 1,
                      (unsigned)nest__config.max_clients, strerror(error));
        } else {
            thread_crew.count++;
            atomic_fetch_add(&thread_crew.live, 1);
        }
    }
    pthread_attr_destroy(&attributes);
    return -error;
}

/* Threads inherit the mask: TERM and INT come to the descriptor alone. */
static int thread_signals(void) {
    sigset_t mine;
    sigemptyset(&mine);
    sigaddset(&mine, SIGTERM);
    sigaddset(&mine, SIGINT);
    int error = pthread_sigmask(SIG_BLOCK, &mine, NULL);
    thread_crew.signals = signalfd(-1, &mine, SFD_NONBLOCK | SFD_CLOEXEC);
    thread_crew.over = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return error != 0 ? -error : thread_crew.signals == -1 || thread_crew.over == -1 ? -errno : 0;
}

int nest__crew_prepare(void) {
    int error = nest__descriptors_budget((uint64_t)nest__config.max_clients + NEST__LISTEN_MAX +
                                         THREAD_DESCRIPTORS);
    if (error != 0) {
        return error;
    }
    nest__ended = thread_crew.ended;
    nest__crash_install("server", "the server ends");
    error = thread_signals();
    if (error == 0) {
        error = thread_reserve();
    }
    if (error != 0) {
        nest__say("no room for %u clients: %s; lower maxClients",
                  (unsigned)nest__config.max_clients, strerror(-error));
        return error;
    }
    pthread_mutex_lock(&thread_crew.gate);
    return thread_spawn();
}

/* Wakes whoever waits in a socket. The phase is raised first: a thread that takes its connection
 * after the look at its seat finds it raised. */
static void thread_raise(int phase, int how) {
    atomic_store(&nest__stop, phase);
    for (uint32_t i = 0; i < thread_crew.count; i++) {
        struct thread_seat *seat = &thread_crew.seats[i];
        pthread_mutex_lock(&seat->lock);
        if (seat->fd != -1) {
            shutdown(seat->fd, how);
        }
        pthread_mutex_unlock(&seat->lock);
    }
}

/* Sleeps until `deadline` (0: none). True: TERM or INT came, or all threads have ended. */
static bool thread_sleep(uint64_t deadline) {
    struct pollfd ready[2] = {{.fd = thread_crew.signals, .events = POLLIN},
                              {.fd = thread_crew.over, .events = POLLIN}};
    for (;;) {
        struct signalfd_siginfo info;
        int timeout = -1;
        if (deadline != 0) {
            uint64_t now = nest__clock_ms();
            if (now >= deadline) {
                return false;
            }
            timeout = (int)(deadline - now);
        }
        if (poll(ready, 2, timeout) > 0) {
            (void)!read(thread_crew.signals, &info, sizeof info);
            return true;
        }
    }
}

/* Threads that do not end take the process with them; main would wait for ever otherwise. */
static _Noreturn void thread_abandon(void) {
    nest__listen_close();
    fflush(NULL);
    _exit(EXIT_SUCCESS);
}

int nest__crew_run(void) {
    if (nest__listener_count > 1 && nest__listen_nonblocking() != 0) {
        nest__say("cannot start: %s", strerror(errno));
        return EXIT_FAILURE;
    }
    pthread_mutex_unlock(&thread_crew.gate);
    (void)thread_sleep(0);
    uint64_t begin = nest__clock_ms();
    atomic_store(&nest__stop, NEST__DRAIN);
    nest__listen_stop();
    thread_raise(NEST__DRAIN, SHUT_RD);
    if (!thread_sleep(begin + THREAD_CUT_MS)) {
        thread_raise(NEST__CUT_OFF, SHUT_RDWR);
        (void)thread_sleep(begin + THREAD_STOP_MS);
    }
    if (atomic_load(&thread_crew.live) > 0) {
        thread_abandon();
    }
    for (uint32_t i = 0; i < thread_crew.count; i++) {
        pthread_join(thread_crew.seats[i].thread, NULL);
        nest__carrier_clear(thread_crew.seats[i].carrier);
    }
    return EXIT_SUCCESS;
}
