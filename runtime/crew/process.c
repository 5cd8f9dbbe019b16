/* process.c: a supervisor and workers forked ahead, one connection each.
 *
 * Called by main. What a connection costs beyond its own calls was paid before it came: a worker
 * takes one, serves it and ends, and the supervisor forks the next.
 * State: the book of slots is the supervisor's alone. Shared is what workers tell: which seat of
 * the spares is still taken, and how a slot's connection ended. Each word has one writer and every
 * value of it is valid, so that a worker may die at any instruction. Must not know the language,
 * nor how bytes are read.
 *
 * Opened is the sum of ended and crashed: a worker that gave up its seat has a connection, and its
 * slot says how that ended, or does not: then it crashed. */
#include "../engine/engine.h"
#include "../io/blocking.h"
#include "../platform/platform.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PROCESS_SPARES = 16,
    PROCESS_CUT_S = 4,        /* after a stop's begin, connections are cut off */
    PROCESS_STOP_MS = 5000,   /* and workers that go on all the same are killed */
    PROCESS_DESCRIPTORS = 16, /* beside the listeners: a connection, libraries */
    PROCESS_BACKOFF_MS = 100,
    PROCESS_BACKOFF_MOST_MS = 5000,
};

_Atomic uint64_t *nest__ended; /* the supervisor's: all; a worker's: its slot's */

struct process_shared {
    _Atomic uint32_t asked;                 /* for more spares, since the supervisor last counted */
    _Atomic uint32_t seats[PROCESS_SPARES]; /* slot + 1 of a worker that has no connection yet */
    _Atomic uint64_t ended[][NEST_REASONS]; /* per slot */
};
struct process_slot {
    pid_t pid; /* 0: free */
    uint32_t gen, next_free;
    uint8_t seat;
};

static struct {
    struct process_shared *shared;
    struct process_slot *slots;
    _Atomic uint64_t totals[NEST_REASONS];
    uint32_t free_slot, live, used; /* used: slots that were ever taken */
    int signals, asks;              /* descriptors: signalfd, eventfd */
    sigset_t before;                /* the mask that workers get back */
    pid_t pid;
    unsigned failures;   /* in a row: forks that failed, workers that died without a connection */
    uint64_t not_before; /* the next fork, after failures */
    bool stopping;
} process_crew;

static nest_session process_session;
static struct nest__carrier *process_carrier;
static void *process_vars;
static uint8_t *process_buffer;
/* The connection that this worker serves, -1 before it has one. Volatile: the handler reads it. */
static volatile sig_atomic_t process_fd = -1;

struct nest__carrier *nest__carrier(void) {
    return process_carrier;
}

void *nest__vars(const nest_session *s) {
    (void)s;
    return process_vars;
}

static uint32_t process_target(void) {
    return nest__config.max_clients < PROCESS_SPARES ? nest__config.max_clients : PROCESS_SPARES;
}

static uint32_t process_spares(void) {
    uint32_t count = 0;
    for (unsigned seat = 0; seat < PROCESS_SPARES; seat++) {
        count += atomic_load(&process_crew.shared->seats[seat]) != 0;
    }
    return count;
}

/* -- the worker ---------------------------------------------------------------------------------
 */

/* A worker without a connection ends; one with a connection is waked from whatever it waits in.
 * Nothing is lost between a look at nest__stop and a blocking call: a socket that was shut down
 * stays so, and the call returns. A signal after accept, but before process_fd is set, ends the
 * worker too: that connection's START has not begun, it fares like those still in the queue. */
static void process_on_stop(int signal) {
    int saved = errno;
    (void)signal;
    if (process_fd == -1) {
        _exit(EXIT_SUCCESS);
    }
    if (atomic_load(&nest__stop) == NEST__GO_ON) {
        atomic_store(&nest__stop, NEST__DRAIN);
        shutdown(process_fd, SHUT_RD);
        alarm(PROCESS_CUT_S);
    }
    errno = saved;
}

static void process_on_alarm(int signal) {
    int saved = errno;
    (void)signal;
    atomic_store(&nest__stop, NEST__CUT_OFF);
    shutdown(process_fd, SHUT_RDWR);
    alarm(PROCESS_STOP_MS / 1000 - PROCESS_CUT_S); /* SA_RESETHAND: the next one ends the process */
    errno = saved;
}

/* Gives up the seat; the supervisor is waked only if fewer than half are left. It asks again after
 * whoever counts last, so no shortage goes unnoticed. */
static void process_unseat(unsigned seat) {
    struct process_shared *shared = process_crew.shared;
    uint64_t one = 1;
    atomic_store(&shared->seats[seat], 0);
    if (process_spares() * 2 < process_target() && atomic_exchange(&shared->asked, 1) == 0) {
        nest__write(process_crew.asks, &one, sizeof one);
    }
}

static _Noreturn void process_worker(uint32_t slot, unsigned seat) {
    struct sigaction stop = {.sa_handler = process_on_stop};
    struct sigaction cut = {.sa_handler = process_on_alarm, .sa_flags = (int)SA_RESETHAND};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct nest__arrival arrival;
    nest__ended = process_crew.shared->ended[slot];
    process_session.self = (nest__ref){slot, process_crew.slots[slot].gen};
    nest__crash_install("worker", "only this client is lost");
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGALRM, &cut, NULL);
    sigaction(SIGINT, &ignore, NULL); /* of a terminal: the supervisor has it too, and says TERM */
    if (nest__parent_watch(SIGTERM, process_crew.pid) != 0) {
        _exit(EXIT_SUCCESS);
    }
    sigprocmask(SIG_SETMASK, &process_crew.before, NULL);
    memset(process_buffer, 0, nest__config.input_buffer); /* its pages, ahead of the client */
    int error;
    do {
        error = nest__take_any(&arrival);
    } while (error == -EAGAIN || error == -EINTR);
    if (error != 0) {
        _exit(error == -EINVAL ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    process_fd = arrival.fd;
    process_unseat(seat);
    nest__serve(&process_session, &arrival, process_buffer);
    close(arrival.fd);
    nest__released(&process_session);
    fflush(NULL);        /* what actions printed */
    _exit(EXIT_SUCCESS); /* not exit: what start-up code registered is the supervisor's to run */
}

/* -- the supervisor -----------------------------------------------------------------------------
 */

static void process_backoff(void) {
    uint64_t delay = PROCESS_BACKOFF_MS;
    for (unsigned i = 0; i < process_crew.failures && delay < PROCESS_BACKOFF_MOST_MS; i++) {
        delay *= 2;
    }
    process_crew.failures++;
    process_crew.not_before = nest__clock_ms() + delay;
}

/* 0, or -errno if there is no process. The seat is taken before the fork: the worker may be done
 * before the parent goes on. */
static int process_fork(unsigned seat) {
    struct process_shared *shared = process_crew.shared;
    uint32_t slot = process_crew.free_slot;
    struct process_slot *entry = &process_crew.slots[slot];
    memset(shared->ended[slot], 0, sizeof shared->ended[slot]);
    atomic_store(&shared->seats[seat], slot + 1);
    pid_t pid = fork();
    if (pid == 0) {
        process_worker(slot, seat);
    }
    if (pid == -1) {
        int error = errno;
        atomic_store(&shared->seats[seat], 0);
        return -error;
    }
    process_crew.free_slot = entry->next_free;
    process_crew.live++;
    process_crew.used = slot < process_crew.used ? process_crew.used : slot + 1;
    entry->pid = pid;
    entry->seat = (uint8_t)seat;
    return 0;
}

/* Forks until the spares are complete. While there is no free slot nobody needs to ask: the next
 * worker that ends wakes the supervisor. */
static void process_replenish(void) {
    struct process_shared *shared = process_crew.shared;
    if (process_crew.failures > 0 && nest__clock_ms() < process_crew.not_before) {
        return;
    }
    atomic_store(&shared->asked, 0);
    for (unsigned seat = 0; seat < process_target(); seat++) {
        if (process_crew.live == nest__config.max_clients) {
            atomic_store(&shared->asked, 1);
            return;
        }
        if (atomic_load(&shared->seats[seat]) == 0) {
            int error = process_fork(seat);
            if (error != 0) {
                if (process_crew.failures == 0) {
                    nest__say("cannot fork a worker: %s; trying again", strerror(-error));
                }
                process_backoff();
                return;
            }
        }
    }
}

/* Counts how a worker's connection ended. False: it died before it had one. */
static bool process_account(uint32_t slot, int status) {
    struct process_slot *entry = &process_crew.slots[slot];
    struct process_shared *shared = process_crew.shared;
    if (atomic_load(&shared->seats[entry->seat]) == slot + 1) {
        atomic_store(&shared->seats[entry->seat], 0);
        if (!process_crew.stopping && process_crew.failures == 0) {
            nest__say("worker %ld ended before it had a client (%s %d); forking another",
                      (long)entry->pid, WIFSIGNALED(status) ? "signal" : "status",
                      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        }
        return false;
    }
    unsigned reason = NEST_OPEN; /* its worker took END along */
    for (unsigned i = NEST_OPEN + 1; i < NEST_REASONS; i++) {
        reason = atomic_load(&shared->ended[slot][i]) != 0 ? i : reason;
    }
    atomic_fetch_add(&process_crew.totals[reason], 1);
    process_crew.failures = 0;
    return true;
}

static void process_reap(void) {
    int status;
    pid_t pid;
    bool failed = false;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (uint32_t slot = 0; slot < process_crew.used; slot++) {
            struct process_slot *entry = &process_crew.slots[slot];
            if (entry->pid == pid) { /* else a child of start-up code */
                failed = !process_account(slot, status) || failed;
                entry->pid = 0;
                entry->gen++;
                entry->next_free = process_crew.free_slot;
                process_crew.free_slot = slot;
                process_crew.live--;
                break;
            }
        }
    }
    if (failed) { /* once, however many died together */
        process_backoff();
    }
}

static void process_kill(int signal) {
    for (uint32_t slot = 0; slot < process_crew.used; slot++) {
        if (process_crew.slots[slot].pid != 0) {
            kill(process_crew.slots[slot].pid, signal);
        }
    }
}

/* Sleeps until something is to be done; true: TERM or INT came. Signals are read from a descriptor,
 * so none can come between a look and the sleep. */
static bool process_sleep(int timeout) {
    struct pollfd ready[2] = {{.fd = process_crew.signals, .events = POLLIN},
                              {.fd = process_crew.asks, .events = POLLIN}};
    struct signalfd_siginfo info;
    uint64_t asks;
    bool stop = false;
    (void)poll(ready, 2, timeout);
    while (read(process_crew.signals, &info, sizeof info) == (ssize_t)sizeof info) {
        stop = stop || info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT;
    }
    (void)!read(process_crew.asks, &asks, sizeof asks);
    return stop;
}

static void process_stop(void) {
    uint64_t deadline = nest__clock_ms() + PROCESS_STOP_MS;
    process_crew.stopping = true;
    nest__listen_stop();
    process_kill(SIGTERM);
    for (process_reap(); process_crew.live > 0; process_reap()) {
        uint64_t now = nest__clock_ms();
        if (now >= deadline || process_sleep((int)(deadline - now))) {
            process_kill(SIGKILL);
            deadline = now + PROCESS_STOP_MS;
        }
    }
}

/* Before anybody can know that the server is there, so that no TERM meets the default action. */
static int process_signals(void) {
    struct sigaction normal = {.sa_handler = SIG_DFL};
    sigset_t mine;
    sigemptyset(&mine);
    sigaddset(&mine, SIGCHLD);
    sigaddset(&mine, SIGTERM);
    sigaddset(&mine, SIGINT);
    sigaction(SIGCHLD, &normal, NULL); /* ignored, it would take the children's statuses along */
    sigprocmask(SIG_BLOCK, &mine, &process_crew.before);
    sigdelset(&process_crew.before, SIGTERM);
    sigdelset(&process_crew.before, SIGALRM);
    process_crew.pid = getpid();
    process_crew.signals = signalfd(-1, &mine, SFD_NONBLOCK | SFD_CLOEXEC);
    process_crew.asks = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return process_crew.signals == -1 || process_crew.asks == -1 ? -errno : 0;
}

int nest__crew_prepare(void) {
    size_t shared = sizeof *process_crew.shared +
                    nest__config.max_clients * sizeof process_crew.shared->ended[0];
    int protection = PROT_READ | PROT_WRITE;
    int error = nest__processes_budget();
    if (error == 0) {
        error = nest__descriptors_budget(NEST__LISTEN_MAX + PROCESS_DESCRIPTORS);
    }
    if (error != 0) {
        return error;
    }
    process_crew.shared = mmap(NULL, shared, protection, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    process_carrier = mmap(NULL, sizeof *process_carrier, protection,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    process_crew.slots = calloc(nest__config.max_clients, sizeof *process_crew.slots);
    process_vars = nest__spec_vars_size > 0 ? calloc(1, nest__spec_vars_size) : NULL;
    process_buffer = malloc(nest__config.input_buffer);
    if (process_crew.shared == MAP_FAILED || (void *)process_carrier == MAP_FAILED ||
        process_crew.slots == NULL || process_buffer == NULL ||
        (nest__spec_vars_size > 0 && process_vars == NULL)) {
        nest__say("no memory for %u clients; lower maxClients or inputBuffer",
                  (unsigned)nest__config.max_clients);
        return -ENOMEM;
    }
    for (uint32_t slot = 0; slot < nest__config.max_clients; slot++) {
        process_crew.slots[slot].next_free = slot + 1;
    }
    nest__ended = process_crew.totals;
    error = process_signals();
    if (error != 0) {
        nest__say("cannot start: %s", strerror(-error));
    }
    return error;
}

int nest__crew_run(void) {
    if (nest__listener_count > 1 && nest__listen_nonblocking() != 0) {
        nest__say("cannot start: %s", strerror(errno));
        return EXIT_FAILURE;
    }
    for (;;) {
        int timeout = -1; /* idle: no wake-up at all */
        process_replenish();
        if (process_crew.failures > 0 && process_spares() < process_target()) {
            uint64_t now = nest__clock_ms();
            timeout = now < process_crew.not_before ? (int)(process_crew.not_before - now) : 0;
        }
        if (process_sleep(timeout)) {
            break;
        }
        process_reap();
    }
    process_stop();
    close(process_crew.signals);
    close(process_crew.asks);
    return EXIT_SUCCESS;
}
