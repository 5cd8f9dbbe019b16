/* worker.c: a process that takes one connection, serves it and ends.
 *
 * Called by process.c, mostly in a child. State: the process's one connection. Must not know the
 * language, nor how bytes are read, nor other workers. */
#include "../engine/engine.h"
#include "../blocking/blocking.h"
#include "../platform/platform.h"
#include "idle_exit.h"
#include "process.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORKER_RETRY_MS = 100, WORKER_GRACE_S = 2 };

_Atomic uint64_t *nest__ended; /* the supervisor's: all; a worker's: its slot's */

static nest_session worker_session;
static struct nest__worker *worker_own;
static void *worker_vars;
static uint8_t *worker_buffer;
static struct nest__deadline_slot *worker_slot; /* NULL: nobody watches */
/* The connection, -1 before there is one. Volatile, as the next: handlers use them. */
static volatile sig_atomic_t worker_fd = -1;
static volatile sig_atomic_t worker_stale; /* the configuration has changed since the fork */

struct nest__worker *nest__worker(void) {
    return worker_own;
}

void *nest__vars(const nest_session *s) {
    (void)s;
    return worker_vars;
}

struct nest__deadline_slot *nest__deadline_slot(void) {
    return worker_slot;
}

int nest__worker_prepare(void) {
    worker_own = mmap(NULL, sizeof *worker_own, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    worker_vars = nest__spec_vars_size > 0 ? calloc(1, nest__spec_vars_size) : NULL;
    worker_buffer = malloc(nest__receive_capacity());
    return (void *)worker_own == MAP_FAILED || worker_buffer == NULL ||
                   (nest__spec_vars_size > 0 && worker_vars == NULL)
               ? -ENOMEM
               : 0;
}

/* -- handlers ------------------------------------------------------------------------------------
 */

/* Wakes the receive in which the connection may be. Nothing is lost between a look at nest__stop
 * and a blocking call: a woken socket stays so, and the call returns. */
static void worker_wake(void) {
    uint64_t one = 1;
    if (nest__wake_fd != -1) {
        nest__write(nest__wake_fd, &one, sizeof one);
    } else if (worker_fd != -1) {
        nest__wake_receiver(worker_fd);
    }
}

static bool worker_alone(void) {
    return getppid() != nest__supervisor();
}

static void worker_on_alarm(int signal) {
    int saved = errno;
    (void)signal;
    atomic_store(&nest__stop, NEST__CUT_OFF);
    worker_wake();
    alarm(WORKER_GRACE_S); /* SA_RESETHAND: the next one ends the process */
    errno = saved;
}

/* What the supervisor's stop has come to; a TERM from elsewhere means this worker alone. When the
 * supervisor has died, so has the server: the clock and a second TERM are minded here. */
static void worker_on_stop(int signal) {
    int saved = errno, phase = atomic_load(&nest__shared->stop), now = atomic_load(&nest__stop);
    (void)signal;
    if (worker_alone()) {
        phase = now == NEST__GO_ON ? NEST__DRAIN : NEST__CUT_OFF;
        if (worker_fd == -1) {
            (void)nest__listen_stop(); /* wakes from accept, even one not yet begun */
        }
        if (now == NEST__GO_ON && nest__config.drain_timeout > 0) {
            alarm(nest__config.drain_timeout / 1000 + 1);
        }
    }
    if (phase == NEST__GO_ON) {
        phase = NEST__DRAIN;
    }
    if (phase >= now) { /* again: the last one may have come just before a poll */
        atomic_store(&nest__stop, phase);
        worker_wake();
    }
    errno = saved;
}

static void worker_on_reload(int signal) {
    (void)signal;
    worker_stale = 1;
}

static void worker_on_watch(int signal) {
    int saved = errno;
    (void)signal;
    worker_wake();
    errno = saved;
}

static void worker_signals(void) {
    /* Without SA_RESTART, what interrupts accept. */
    struct sigaction stop = {.sa_handler = worker_on_stop};
    struct sigaction reload = {.sa_handler = worker_on_reload};
    struct sigaction watch = {.sa_handler = worker_on_watch, .sa_flags = (int)SA_RESTART};
    struct sigaction cut = {.sa_handler = worker_on_alarm, .sa_flags = (int)SA_RESETHAND};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGHUP, &reload, NULL);
    sigaction(SIGURG, &watch, NULL);
    sigaction(SIGALRM, &cut, NULL);
    sigaction(SIGINT, &ignore, NULL); /* of a terminal: the supervisor has it too, and says TERM */
}

/* -- a connection --------------------------------------------------------------------------------
 */

/* Gives up the place among the spares; the supervisor is waked only if fewer than half are left. It
 * counts again after the last worker, so it notices every shortage. */
static void worker_leave(unsigned place) {
    atomic_store(&nest__shared->spares[place], 0);
    if (nest__spares() * 2 < nest__spares_target() &&
        atomic_exchange(&nest__shared->asked, 1) == 0) {
        nest__supervisor_ask();
    }
}

/* Descriptors or memory of the system are short. */
static void worker_rest(int error) {
    nest__scarce(&nest__shared->scarce, error);
    (void)poll(NULL, 0, WORKER_RETRY_MS);
}

/* A connection, or the end of the process. One that has to go before it has a connection goes
 * between two calls of accept, so that it takes none along. */
static void worker_take(struct nest__arrival *arrival) {
    int error;
    while ((error = nest__take_any(arrival)) != 0) {
        bool stops = atomic_load(&nest__shared->stop) != NEST__GO_ON;
        if (error == -EINVAL || atomic_load(&nest__stop) == NEST__CUT_OFF) {
            _exit(EXIT_SUCCESS);
        }
        if (error != -EAGAIN && error != -EINTR) {
            worker_rest(error);
        } else if (stops) {
            (void)nest__listen_stop(); /* from now on take_any does not wait */
        } else if ((worker_stale != 0 || nest__stopping()) && !worker_alone()) {
            _exit(EXIT_SUCCESS);
        }
    }
}

static bool worker_serve(const struct nest__arrival *arrival) {
    bool cut = nest__serve(&worker_session, arrival, worker_buffer);
    close(arrival->fd);
    nest__released(&worker_session);
    return cut;
}

_Noreturn void nest__worker_main(uint32_t slot, uint32_t gen, unsigned place,
                                 const sigset_t *mask) {
    struct nest__arrival arrival;
    struct nest__told *told = &nest__shared->told[slot];
    nest__ended = told->ended;
    worker_session.self = (nest__ref){slot, gen};
    worker_slot = &told->slot;
    nest__crash_install("worker", "only this client is lost");
    worker_signals();
    if (nest__parent_watch(SIGTERM, nest__supervisor()) != 0) {
        _exit(EXIT_SUCCESS);
    }
    sigprocmask(SIG_SETMASK, mask, NULL);
    memset(worker_buffer, 0, nest__receive_capacity()); /* its pages, ahead of the client */
    worker_take(&arrival);
    worker_fd = arrival.fd;
    worker_leave(place);
    if (worker_serve(&arrival)) {
        atomic_store(&told->cut, 1);
    }
    fflush(NULL);        /* what actions printed */
    _exit(EXIT_SUCCESS); /* not exit: what start-up code registered is the supervisor's to run */
}

/* -- without a supervisor ------------------------------------------------------------------------
 */

static void worker_on_only_stop(int signal) {
    int saved = errno;
    (void)signal;
    if (atomic_load(&nest__stop) != NEST__GO_ON) {
        worker_on_alarm(SIGALRM);
    } else {
        atomic_store(&nest__stop, NEST__DRAIN);
        if (nest__config.drain_timeout > 0) {
            alarm((nest__config.drain_timeout + 999) / 1000);
        }
        worker_wake();
    }
    errno = saved;
}

bool nest__worker_only(const struct nest__arrival *arrival) {
    struct sigaction stop = {.sa_handler = worker_on_only_stop, .sa_flags = (int)SA_RESTART};
    struct sigaction cut = {.sa_handler = worker_on_alarm, .sa_flags = (int)SA_RESETHAND};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    nest__wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    nest__crash_install("server", "the server ends");
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGALRM, &cut, NULL);
    sigaction(SIGHUP, &ignore, NULL); /* a connection keeps its configuration */
    worker_fd = arrival->fd;
    return worker_serve(arrival);
}
