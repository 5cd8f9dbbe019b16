/* process.c: a supervisor and workers forked ahead, one connection each.
 *
 * Called by main. What a connection costs beyond its own calls was paid before it came: a worker
 * takes one, serves it and ends, and the supervisor forks the next.
 * State: the book of slots is the supervisor's alone; what workers tell it is in process.h. Must
 * not know the language, nor how bytes are read.
 *
 * Opened is the sum of ended and crashed: a worker that gave up its place has a connection, and its
 * slot says how that ended, or does not: then it crashed. */
#include "process.h"
#include "../blocking/blocking.h"
#include "../platform/platform.h"
#include "idle_exit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PROCESS_GRACE_MS = 2000,  /* after the cut; workers that go on all the same are killed */
    PROCESS_DESCRIPTORS = 16, /* beside the listeners: a connection, libraries */
    PROCESS_BACKOFF_MS = 100,
    PROCESS_BACKOFF_MOST_MS = 5000,
};

struct process_slot {
    pid_t pid; /* 0: free */
    uint32_t gen, next_free;
    uint8_t place;
    bool stale;  /* told to go: the configuration has changed */
    bool killed; /* by the stop */
};

struct nest__shared *nest__shared;
struct nest__watch *nest__watch;

static struct {
    struct process_slot *slots;
    _Atomic uint64_t totals[NEST_REASONS];
    uint64_t cut;
    uint32_t free_slot, live, used; /* used: slots that were ever taken */
    int signals, asks;              /* descriptors: signalfd, eventfd */
    bool asked;                     /* `asks` was written since the last look */
    sigset_t before;                /* the mask that workers get back */
    pid_t pid;
    unsigned failures;   /* in a row: forks that failed, workers that died without a connection */
    uint64_t not_before; /* the next fork, after failures */
} process_pool;

pid_t nest__supervisor(void) {
    return process_pool.pid;
}

void nest__supervisor_ask(void) {
    uint64_t one = 1;
    nest__write(process_pool.asks, &one, sizeof one);
}

void nest__watch_wake(void) {
    nest__supervisor_ask();
}

uint64_t nest__cut(void) {
    return process_pool.cut;
}

uint32_t nest__spares_target(void) {
    return nest__config.max_clients < NEST__SPARES ? nest__config.max_clients : NEST__SPARES;
}

uint32_t nest__spares(void) {
    uint32_t count = 0;
    for (unsigned place = 0; place < NEST__SPARES; place++) {
        count += atomic_load(&nest__shared->spares[place]) != 0;
    }
    return count;
}

/* -- forking -------------------------------------------------------------------------------------
 */

/* ms until the next try. */
static uint32_t process_backoff(void) {
    uint32_t delay = PROCESS_BACKOFF_MS;
    for (unsigned i = 0; i < process_pool.failures && delay < PROCESS_BACKOFF_MOST_MS; i++) {
        delay *= 2;
    }
    delay = delay < PROCESS_BACKOFF_MOST_MS ? delay : PROCESS_BACKOFF_MOST_MS;
    process_pool.failures++;
    process_pool.not_before = nest__clock_ms() + delay;
    return delay;
}

/* 0, or -errno if there is no process. The place is taken before the fork: the worker may be done
 * before the parent goes on. */
static int process_fork(unsigned place) {
    uint32_t slot = process_pool.free_slot;
    struct process_slot *entry = &process_pool.slots[slot];
    memset(&nest__shared->told[slot], 0, sizeof nest__shared->told[slot]);
    atomic_store(&nest__shared->spares[place], slot + 1);
    pid_t pid = fork();
    if (pid == 0) {
        nest__worker_main(slot, entry->gen, place, &process_pool.before);
    }
    if (pid == -1) {
        int error = errno;
        atomic_store(&nest__shared->spares[place], 0);
        return -error;
    }
    process_pool.free_slot = entry->next_free;
    process_pool.live++;
    process_pool.used = slot < process_pool.used ? process_pool.used : slot + 1;
    entry->pid = pid;
    entry->place = (uint8_t)place;
    entry->stale = false;
    entry->killed = false;
    return 0;
}

/* Forks until the spares are complete. While there is no free slot nobody needs to ask: the next
 * worker that ends wakes the supervisor. */
static void process_replenish(void) {
    if (process_pool.failures > 0 && nest__clock_ms() < process_pool.not_before) {
        return;
    }
    atomic_store(&nest__shared->asked, 0);
    for (unsigned place = 0; place < nest__spares_target(); place++) {
        if (process_pool.live == nest__config.max_clients) {
            atomic_store(&nest__shared->asked, 1);
            return;
        }
        if (atomic_load(&nest__shared->spares[place]) == 0) {
            int error = process_fork(place);
            if (error != 0) {
                bool first = process_pool.failures == 0;
                uint32_t delay = process_backoff();
                if (first) {
                    nest__say("cannot fork a worker: %s; the next try is in %u ms",
                              strerror(-error), (unsigned)delay);
                }
                return;
            }
        }
    }
}

/* -- the end of workers --------------------------------------------------------------------------
 */

/* A report of its own, if the worker could not write one (platform/crash.c). */
static void process_report_exit(pid_t pid, int status) {
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    switch (number) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGABRT:
    case SIGTRAP:
        break;
    case 0:
        nest__say("worker %ld exited with status %d in an action, and its client is lost",
                  (long)pid, WEXITSTATUS(status));
        break;
    default:
        nest__say("worker %ld was ended by signal %d (%s), and its client is lost", (long)pid,
                  number, strsignal(number));
        break;
    }
}

/* Counts how a worker's connection ended. False: it died before it had one, and should not have. */
static bool process_account(uint32_t slot, int status) {
    struct process_slot *entry = &process_pool.slots[slot];
    struct nest__told *told = &nest__shared->told[slot];
    atomic_store(&told->slot.deadline, 0);
    if (atomic_load(&nest__shared->spares[entry->place]) == slot + 1) {
        atomic_store(&nest__shared->spares[entry->place], 0);
        return entry->stale || nest__stopping() || status == 0;
    }
    unsigned reason = NEST_OPEN; /* its worker took END along */
    for (unsigned i = NEST_OPEN + 1; i < NEST_REASONS; i++) {
        reason = atomic_load(&told->ended[i]) != 0 ? i : reason;
    }
    atomic_fetch_add(&process_pool.totals[reason], 1);
    process_pool.cut += atomic_load(&told->cut) != 0 || (entry->killed && reason == NEST_OPEN);
    process_pool.failures = 0;
    if (reason == NEST_OPEN && !entry->killed) {
        process_report_exit(entry->pid, status);
    }
    return true;
}

static void process_reap(void) {
    int status, failure = 0;
    pid_t pid, failed = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (uint32_t slot = 0; slot < process_pool.used; slot++) {
            struct process_slot *entry = &process_pool.slots[slot];
            if (entry->pid == pid) { /* else a child of start-up code */
                if (!process_account(slot, status)) {
                    failed = pid;
                    failure = status;
                }
                entry->pid = 0;
                entry->gen++;
                entry->next_free = process_pool.free_slot;
                process_pool.free_slot = slot;
                process_pool.live--;
                break;
            }
        }
    }
    if (failed != 0) { /* once, however many died together */
        bool first = process_pool.failures == 0;
        uint32_t delay = process_backoff();
        if (first) {
            nest__say("worker %ld ended before it had a client (%s %d); the next is forked in %u "
                      "ms",
                      (long)failed, WIFSIGNALED(failure) ? "signal" : "status",
                      WIFSIGNALED(failure) ? WTERMSIG(failure) : WEXITSTATUS(failure),
                      (unsigned)delay);
        }
    }
}

/* -- telling workers -----------------------------------------------------------------------------
 */

static void process_kill(int signal) {
    for (uint32_t slot = 0; slot < process_pool.used; slot++) {
        if (process_pool.slots[slot].pid != 0) {
            process_pool.slots[slot].killed = signal == SIGKILL;
            kill(process_pool.slots[slot].pid, signal);
        }
    }
}

/* Workers without a connection that were forked before the configuration changed. `mark`: it has
 * changed now. They are told until they have gone: a signal may come just before a call that
 * waits. How many are left. */
static uint32_t process_refresh(bool mark) {
    uint32_t left = 0;
    for (unsigned place = 0; place < NEST__SPARES; place++) {
        uint32_t taken = atomic_load(&nest__shared->spares[place]);
        struct process_slot *entry = taken == 0 ? NULL : &process_pool.slots[taken - 1];
        if (entry != NULL && entry->pid != 0) {
            entry->stale = entry->stale || mark;
            if (entry->stale) {
                left++;
                kill(entry->pid, SIGHUP);
            }
        }
    }
    return left;
}

/* The watcher: wakes whose time has come. ms until the next, -1: none. */
static int process_look(void) {
    int timeout;
    if (!nest__look_due(process_pool.asked, &timeout)) {
        return timeout;
    }
    process_pool.asked = false;
    struct nest__look look = nest__look_begin();
    for (uint32_t slot = 0; slot < process_pool.used; slot++) {
        pid_t pid = process_pool.slots[slot].pid;
        if (pid != 0 && nest__look_at(&look, &nest__shared->told[slot].slot)) {
            kill(pid, SIGURG);
        }
    }
    return nest__look_end(&look);
}

/* -- the supervisor ------------------------------------------------------------------------------
 */

enum process_asked { PROCESS_NOTHING, PROCESS_RELOAD, PROCESS_STOP };

/* Sleeps until something is to be done, at most `timeout` ms (-1: for ever). Signals are read from
 * a descriptor, so none can come between a look and the sleep; those behind a stop, of which the
 * next may be the second, another time. */
static enum process_asked process_sleep(int timeout) {
    struct pollfd ready[2] = {{.fd = process_pool.signals, .events = POLLIN},
                              {.fd = process_pool.asks, .events = POLLIN}};
    struct signalfd_siginfo info;
    uint64_t asks;
    enum process_asked asked = PROCESS_NOTHING;
    if (poll(ready, 2, nest__beat(timeout)) <= 0) {
        return PROCESS_NOTHING;
    }
    while (ready[0].revents != 0 && asked != PROCESS_STOP &&
           read(process_pool.signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT ||
            (info.ssi_signo == SIGHUP && nest__hung_up(info.ssi_code))) {
            asked = PROCESS_STOP;
        } else if (info.ssi_signo == SIGHUP) {
            asked = PROCESS_RELOAD;
        }
    }
    if (ready[1].revents != 0) {
        (void)!read(process_pool.asks, &asks, sizeof asks);
        process_pool.asked = true;
    }
    return asked;
}

static uint64_t process_ended(void) {
    uint64_t ended = 0;
    for (int reason = 0; reason < NEST_REASONS; reason++) {
        ended += atomic_load(&process_pool.totals[reason]);
    }
    return ended;
}

/* When the next fork may be tried, if one has failed; workers that end wake anyway. */
static int process_retry(int timeout) {
    if (process_pool.failures == 0 || process_pool.live == nest__config.max_clients ||
        nest__spares() == nest__spares_target()) {
        return timeout;
    }
    uint64_t now = nest__clock_ms();
    int left = now < process_pool.not_before ? (int)(process_pool.not_before - now) : 0;
    return nest__sooner(timeout, left);
}

/* Until TERM or INT, or nobody needs the server. */
static void process_work(void) {
    struct nest__idle_exit idle = {0};
    uint32_t limit = nest__listen_idle_exit(), stale = 0;
    for (;;) {
        process_reap();
        process_replenish();
        int timeout = process_retry(process_look()); /* idle: no wake-up at all */
        if (stale > 0) {
            stale = process_refresh(false);
            timeout = stale > 0 ? nest__sooner(timeout, NEST__NUDGE_MS) : timeout;
        }
        bool busy = process_pool.live > nest__spares();
        if (nest__idle_exit_due(&idle, limit, busy, process_ended(), &timeout)) {
            return;
        }
        switch (process_sleep(timeout)) {
        case PROCESS_STOP:
            return;
        case PROCESS_RELOAD:
            nest__config_reload();
            stale = process_refresh(true);
            break;
        case PROCESS_NOTHING:
            break;
        }
    }
}

static void process_phase(enum nest__stop_phase phase) {
    atomic_store(&nest__stop, (int)phase); /* workers forked from here on have it from here */
    atomic_store(&nest__shared->stop, (int)phase);
    process_kill(SIGTERM);
}

/* Until all workers have ended, at most `ms` (0: no limit) and until the next TERM. Clients that
 * still wait in queues get workers. True: all have ended. */
static bool process_await(uint32_t ms, bool serve) {
    uint64_t begin = nest__clock_ms();
    for (;;) {
        process_reap();
        bool waits = serve && !nest__listen_stop();
        if (waits) {
            process_replenish();
        }
        if (process_pool.live == 0 && !waits) {
            return true;
        }
        int timeout = waits ? process_retry(process_look()) : process_look();
        if (ms > 0) {
            uint64_t spent = nest__clock_ms() - begin;
            if (spent >= ms) {
                return false;
            }
            timeout = nest__sooner(timeout, (int)(ms - spent));
        }
        if (!serve && ms > 0) { /* they are cut, and a signal may have come just before a poll */
            process_kill(SIGTERM);
            timeout = nest__sooner(timeout, NEST__NUDGE_MS);
        }
        if (process_sleep(timeout) == PROCESS_STOP) {
            return false;
        }
    }
}

static void process_stop(void) {
    atomic_store(&nest__stop, NEST__DRAIN);
    atomic_store(&nest__shared->stop, NEST__DRAIN); /* before listeners say that there is a stop */
    (void)nest__listen_stop();
    process_phase(NEST__DRAIN);
    if (!process_await(nest__config.drain_timeout, true)) {
        process_phase(NEST__CUT_OFF);
        if (!process_await(PROCESS_GRACE_MS, false)) {
            nest__say("%u %s did not end in time, and %s killed", (unsigned)process_pool.live,
                      process_pool.live == 1 ? "worker" : "workers",
                      process_pool.live == 1 ? "was" : "were");
            process_kill(SIGKILL);
            (void)process_await(0, false);
        }
    }
}

/* Before anybody can know that the server is there, so that no TERM meets the default action. */
static int process_signals(void) {
    static const int mine_all[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
    static const int workers_all[] = {SIGTERM, SIGHUP, SIGALRM, SIGURG};
    struct sigaction normal = {.sa_handler = SIG_DFL};
    sigset_t mine;
    sigemptyset(&mine);
    for (size_t i = 0; i < sizeof mine_all / sizeof mine_all[0]; i++) {
        sigaddset(&mine, mine_all[i]);
    }
    sigaction(SIGCHLD, &normal, NULL); /* ignored, it would take the children's statuses along */
    sigprocmask(SIG_BLOCK, &mine, &process_pool.before);
    for (size_t i = 0; i < sizeof workers_all / sizeof workers_all[0]; i++) {
        sigdelset(&process_pool.before, workers_all[i]);
    }
    process_pool.pid = getpid();
    process_pool.signals = signalfd(-1, &mine, SFD_NONBLOCK | SFD_CLOEXEC);
    process_pool.asks = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return process_pool.signals == -1 || process_pool.asks == -1 ? -errno : 0;
}

unsigned nest__worker_needs(struct nest__need needs[NEST__NEEDS]) {
    uint64_t process = 256 * 1024; /* about */
    uint64_t scratch = sizeof(struct nest__worker), buffer = nest__receive_capacity();
    needs[0] = (struct nest__need){"room for matching", NULL, scratch, scratch};
    needs[1] = (struct nest__need){"receive buffer", "inputBuffer", buffer, buffer};
    needs[2] = (struct nest__need){"stack and other pages of its process, about", NULL, process, 0};
    return 3;
}

uint32_t nest__worker_processes(void) {
    return nest__config.max_clients;
}

int nest__workers_prepare(void) {
    size_t shared = sizeof *nest__shared + nest__config.max_clients * sizeof nest__shared->told[0];
    int error = nest__processes_budget();
    if (error == 0) {
        uint64_t need = NEST__LISTEN_MAX + PROCESS_DESCRIPTORS;
        error = nest__descriptors_budget(need, need);
    }
    if (error != 0) {
        return error;
    }
    nest__shared = mmap(NULL, shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    process_pool.slots = calloc(nest__config.max_clients, sizeof *process_pool.slots);
    if ((void *)nest__shared == MAP_FAILED || process_pool.slots == NULL ||
        nest__worker_prepare() != 0) {
        nest__say("no memory for %u clients; lower maxClients or inputBuffer",
                  (unsigned)nest__config.max_clients);
        return -ENOMEM;
    }
    nest__watch = &nest__shared->watch;
    for (uint32_t slot = 0; slot < nest__config.max_clients; slot++) {
        process_pool.slots[slot].next_free = slot + 1;
    }
    nest__ended = process_pool.totals;
    error = process_signals();
    if (error != 0) {
        nest__say("cannot start: %s", strerror(-error));
    }
    return error;
}

/* inetd's nowait: no supervisor, no other process. */
static int process_only(const struct nest__arrival *arrival) {
    sigset_t mask = process_pool.before;
    sigdelset(&mask, SIGINT);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    process_pool.cut = nest__worker_only(arrival);
    nest__worker_clear(nest__worker());
    return process_pool.cut > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int nest__workers_run(void) {
    struct nest__arrival arrival;
    if (nest__take_only(&arrival, false)) {
        return process_only(&arrival);
    }
    process_work();
    process_stop();
    close(process_pool.signals);
    close(process_pool.asks);
    return process_pool.cut > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
