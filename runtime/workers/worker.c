/* worker.c: a process that takes one connection at a time: it serves it, and then ends or takes the
 * next.
 *
 * Called by the supervisor in its child, or by main where there is no supervisor. State: the
 * process's connection. Must not know the language, nor how bytes are read. */
#include "../engine/engine.h"
#include "../blocking/blocking.h"
#include "../platform/platform.h"
#include "process.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORKER_RETRY_MS = 100, WORKER_REPORT_RESTS = 600 };

static nest_session worker_session;
static struct nest__worker *worker_own;
static void *worker_vars;
static uint8_t *worker_buffer;
static struct nest__process_report *worker_report;
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
                   (nest__spec_vars_size > 0 && worker_vars == NULL) ||
                   nest__worker_begin(worker_own) < 0
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
        nest__on_nudge(worker_session.self.slot);
    }
}

static bool worker_alone(void) {
    return getppid() != nest__supervisor();
}

/* Follows the policy of a stop where no supervisor does, with an alarm for the time. */
static void worker_moves(enum nest__stop_event event) {
    enum nest__stop_phase before = (enum nest__stop_phase)atomic_load(&nest__stop);
    enum nest__stop_phase phase = nest__stop_next(NEST__STOP_ALONE, before, event);
    if (phase == NEST__FINISHED) {
        _exit(EXIT_FAILURE);
    }
    if (phase != before) {
        atomic_store(&nest__stop, (int)phase);
        alarm((nest__stop_lasts(NEST__STOP_ALONE, phase) + 999) / 1000);
        worker_wake();
    }
}

static void worker_on_alarm(int signal) {
    int saved = errno;
    (void)signal;
    worker_moves(NEST__STOP_LATE);
    errno = saved;
}

/* The stops that the supervisor has passed on. These are few: a large number was written by an
 * action that took the memory by force, and stops nobody. */
static uint32_t worker_stops(void) {
    enum { MOST = 1000 };
    uint32_t stops = atomic_load(&nest__process_orders()->common.stops);
    return stops <= MOST ? stops : 0;
}

/* The supervisor follows the policy, and says how far it has come. A supervisor that has died took
 * the server with it: its worker is told by the same signal, and then stops by itself. */
static void worker_on_stop(int signal) {
    int saved = errno;
    (void)signal;
    if (worker_alone()) {
        if (worker_fd == -1) {
            (void)nest__listen_stop(); /* wakes from accept, even one not yet begun */
        }
        worker_moves(NEST__STOP_REQUESTED);
    } else {
        int phase = (int)nest__stop_passed(worker_stops());
        if (phase >= atomic_load(&nest__stop)) { /* again: the last may have come before a poll */
            atomic_store(&nest__stop, phase);
            worker_wake();
        }
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
    struct sigaction late = {.sa_handler = worker_on_alarm};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGHUP, &reload, NULL);
    sigaction(SIGURG, &watch, NULL);
    sigaction(SIGALRM, &late, NULL);
    sigaction(SIGINT, &ignore, NULL); /* of a terminal: the supervisor has it too, and says TERM */
}

/* -- a connection --------------------------------------------------------------------------------
 */

/* What this worker can see of other spares: how many are left, and whether one of those that have
 * a client has asked for more since the supervisor last counted. */
static uint32_t worker_others(bool *asked) {
    struct nest__process_orders *orders = nest__process_orders();
    uint32_t left = 0, pass = atomic_load(&orders->pass);
    for (unsigned place = 0; place < NEST__SPARES; place++) {
        uint32_t worker = atomic_load(&orders->spares[place]);
        if (worker > 0 && worker <= nest__config.max_clients) {
            struct nest__process_report *report = nest__process_report(worker - 1);
            left += atomic_load(&report->state) == NEST__SPARE;
            *asked = *asked || atomic_load(&report->asked) == pass;
        }
    }
    return left;
}

/* It is no spare any more; the supervisor is woken only if fewer than half are left. The worker
 * that leaves last counts last, and the supervisor begins a new pass before it counts itself, so
 * that no shortage goes unnoticed. */
static void worker_leave(void) {
    struct nest__process_orders *orders = nest__process_orders();
    bool asked = false;
    atomic_store(&worker_report->state, 0);
    if (atomic_load(&orders->full) == 0 &&
        worker_others(&asked) * 2 < atomic_load(&orders->target) && !asked) {
        atomic_store(&worker_report->asked, atomic_load(&orders->pass));
        nest__supervisor_wake();
    }
}

/* Descriptors or memory of the system are short. The supervisor says so, once for all workers. */
static void worker_rest(int error) {
    static uint32_t rests;
    if (rests++ % WORKER_REPORT_RESTS == 0) {
        atomic_store(&worker_report->scarce, (uint32_t)-error);
        nest__supervisor_wake();
    }
    (void)poll(NULL, 0, WORKER_RETRY_MS);
}

/* Writes the report anew: an action of another worker may have overwritten it by force. */
static _Noreturn void worker_end_unused(void) {
    nest__report_close(true);
    _exit(EXIT_SUCCESS);
}

/* A connection. False: the worker has to go. It does between two calls of accept, so that it takes
 * none along. */
static bool worker_take(struct nest__arrival *arrival) {
    for (;;) {
        if (worker_stops() > 0) {
            (void)nest__listen_stop(); /* from now on take_any does not wait */
        } else if ((worker_stale != 0 || nest__stopping()) && !worker_alone()) {
            return false;
        }
        int error = nest__take_any(arrival);
        if (error == 0) {
            return true;
        }
        if (error == -EINVAL || atomic_load(&nest__stop) >= NEST__CUTTING) {
            return false;
        }
        if (error != -EAGAIN && error != -EINTR) {
            worker_rest(error);
        }
    }
}

static bool worker_serve(const struct nest__arrival *arrival) {
    worker_fd = arrival->fd;
    bool cut = nest__serve(&worker_session, arrival, worker_buffer);
    worker_fd = -1;
    close(arrival->fd);
    nest__released(&worker_session);
    return cut;
}

/* The clients of this worker, as its report has them: one whose handshake fails is none. */
static uint64_t worker_served(void) {
    uint64_t served = 0;
    for (int reason = 0; reason < NEST_REASONS; reason++) {
        served += atomic_load(&nest__ended[reason]);
    }
    return served;
}

/* Whether it takes another connection; then it is a spare again. */
static bool worker_stays(void) {
    uint32_t most = atomic_load(&nest__config.clients_per_worker);
    if (!nest__policy_successive || (most != 0 && worker_served() >= most)) {
        return false;
    }
    worker_session.self.gen++;
    nest__worker_rests(worker_own);
    atomic_store(&worker_report->state, NEST__SPARE);
    if (atomic_load(&nest__process_orders()->returns) != 0) {
        nest__supervisor_wake();
    }
    return true;
}

int nest__serve_worker(uint32_t worker, uint32_t life, const sigset_t *mask) {
    struct nest__arrival arrival;
    bool asked = false, unused = true;
    worker_report = nest__process_report(worker);
    worker_session.self = (nest__ref){worker, life};
    worker_slot = &worker_report->limit;
    nest__crash_install("worker", "only this client is lost");
    nest__crash_keep_thread(true);
    worker_signals();
    sigprocmask(SIG_SETMASK, mask, NULL);
    memset(worker_buffer, 0, nest__receive_capacity()); /* its pages, ahead of the client; */
    (void)worker_others(&asked);                        /* those of others' reports likewise */
    do {
        if (!worker_take(&arrival)) {
            break;
        }
        worker_leave();
        unused = false;
        nest__cut_add(worker_serve(&arrival));
    } while (worker_stays());
    if (unused) {
        worker_end_unused();
    }
    fflush(NULL); /* what actions printed */
    return EXIT_SUCCESS;
}

/* -- without a supervisor ------------------------------------------------------------------------
 */

static void worker_on_only_stop(int signal) {
    int saved = errno;
    (void)signal;
    worker_moves(NEST__STOP_REQUESTED);
    errno = saved;
}

/* inetd's nowait: no other process. */
int nest__serve_alone(void) {
    struct sigaction stop = {.sa_handler = worker_on_only_stop, .sa_flags = (int)SA_RESTART};
    struct sigaction late = {.sa_handler = worker_on_alarm};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct nest__arrival arrival;
    sigset_t heard;
    if (!nest__take_only(&arrival, false)) {
        return EXIT_FAILURE;
    }
    nest__wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    nest__crash_install("server", nest__crash_consequence());
    nest__crash_keep_thread(true);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGALRM, &late, NULL);
    sigaction(SIGHUP, &ignore, NULL); /* a connection keeps its configuration */
    sigemptyset(&heard);
    sigaddset(&heard, SIGTERM);
    sigaddset(&heard, SIGINT);
    sigaddset(&heard, SIGALRM);
    sigaddset(&heard, SIGHUP);
    sigaddset(&heard, SIGCHLD);
    sigprocmask(SIG_UNBLOCK, &heard, NULL);
    nest__cut_add(worker_serve(&arrival));
    nest__worker_clear(worker_own);
    return nest__stop_status((enum nest__stop_phase)atomic_load(&nest__stop));
}
