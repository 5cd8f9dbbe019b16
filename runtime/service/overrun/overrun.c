/* overrun.c: finds actions that run for longer than actionTimeout, and ends their processes.
 *
 * Called at join points. State: in each worker, a slot for each thread that runs actions, in memory
 * that it shares with the supervisor; in the supervisor, what it saw there last. Must not know how
 * an action waits.
 *
 * The supervisor believes nothing that is in a slot: it compares numbers, and asks a thread of its
 * own child to report where it is. A process that does not even do that is killed. A process that
 * inetd started for one connection has no supervisor, and a timer looks instead. */
#include "overrun.h"
#include "../../platform/platform.h"
#include "../../workers/children.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    OVERRUN_LOOKS = 4,        /* in each actionTimeout */
    OVERRUN_REPORT_MS = 1000, /* for the process to say where it is, and to end */
};

struct overrun_slot {
    _Atomic uint64_t turn;  /* differs each time that an action begins or resumes; 0: none runs */
    _Atomic int32_t thread; /* that runs it */
};

/* What was in a slot when it was looked at. */
struct overrun_seen {
    uint64_t turn, since; /* since: when it was seen first, ms */
    uint64_t asked;       /* when its process was asked to end; 0: it was not */
    pid_t pid;            /* of the worker */
};

/* scope: process */
static struct {
    size_t at; /* of the slots, in a worker's report */
    struct overrun_slot *own;
    struct overrun_seen *seen; /* the supervisor's; without one, the process's */
    uint64_t next;             /* when the supervisor looks again, ms */
} overrun;

static _Thread_local uint64_t overrun_turns; /* scope: thread */
static _Thread_local pid_t overrun_thread;   /* scope: thread. 0: not known yet */

/* -- an action -----------------------------------------------------------------------------------
 */

static struct overrun_slot *overrun_slot(const nest_session *s) {
    return &overrun.own[s->self.slot % nest__worker_threads()];
}

void nest__overrun_act(nest_session *s) {
    struct overrun_slot *slot = overrun_slot(s);
    if (overrun_thread == 0) {
        overrun_thread = (pid_t)syscall(SYS_gettid);
    }
    atomic_store_explicit(&slot->thread, overrun_thread, memory_order_relaxed);
    atomic_store_explicit(&slot->turn, ++overrun_turns, memory_order_release);
}

void nest__overrun_wait(nest_session *s) {
    atomic_store_explicit(&overrun_slot(s)->turn, 0, memory_order_relaxed);
}

void nest__overrun_resume(nest_session *s) {
    nest__overrun_act(s);
}

void nest__overrun_acted(nest_session *s, uint64_t taken) {
    (void)taken;
    nest__overrun_wait(s);
}

/* -- who looks -----------------------------------------------------------------------------------
 */

/* The signal reaches the thread that runs the action, and names the turn: the action may have ended
 * by then. A thread that does not exist hears nothing, and the process is killed. */
static void overrun_ask(pid_t pid, pid_t thread, uint64_t turn) {
    siginfo_t info = {.si_signo = SIGXCPU, .si_code = SI_QUEUE};
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)(uintptr_t)turn;
    (void)syscall(SYS_rt_tgsigqueueinfo, pid, thread, SIGXCPU, &info);
}

/* True: an action does not come back, and its process has been asked to end. */
static bool overrun_look(pid_t pid, const struct overrun_slot *slot, struct overrun_seen *seen,
                         uint64_t now) {
    uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);
    if (turn == 0 || turn != seen->turn || pid != seen->pid) {
        *seen = (struct overrun_seen){.turn = turn, .since = now, .pid = pid};
    } else if (seen->asked == 0 && now - seen->since >= atomic_load(&nest__config.action_timeout)) {
        seen->asked = now;
        overrun_ask(pid, atomic_load_explicit(&slot->thread, memory_order_relaxed), turn);
    } else if (seen->asked != 0 && now - seen->asked >= OVERRUN_REPORT_MS) {
        if (nest__supervises()) {
            nest__say(
                "an action of worker %ld ran for longer than actionTimeout, and the worker did "
                "not say where: it is killed",
                (long)pid);
        }
        kill(pid, SIGKILL);
    }
    return seen->asked != 0;
}

static uint64_t overrun_period(bool asked) {
    uint64_t period = atomic_load(&nest__config.action_timeout) / OVERRUN_LOOKS + 1;
    return asked && period > OVERRUN_REPORT_MS ? OVERRUN_REPORT_MS : period;
}

unsigned nest__overrun_mind(void) {
    uint32_t threads = nest__worker_threads();
    uint64_t now = nest__clock_ms();
    bool asked = false;
    if (atomic_load(&nest__config.action_timeout) == 0) {
        overrun.next = 0;
        return 0;
    }
    if (now < overrun.next) {
        return (unsigned)(overrun.next - now);
    }
    for (uint32_t worker = 0; worker < nest__children_seen(); worker++) {
        pid_t pid = nest__child(worker)->pid;
        const struct overrun_slot *slots =
            (const void *)((char *)nest__report_page(worker) + overrun.at);
        for (uint32_t i = 0; i < threads && pid != 0; i++) {
            asked |= overrun_look(pid, &slots[i], &overrun.seen[worker * threads + i], now);
        }
    }
    overrun.next = now + overrun_period(asked);
    return (unsigned)(overrun.next - now);
}

/* -- the process that is ended -------------------------------------------------------------------
 */

/* Whether this thread is still in that turn of an action. */
static bool overrun_runs(uintptr_t turn) {
    const nest_session *s = nest__current_session();
    return s != NULL && (uintptr_t)atomic_load(&overrun_slot(s)->turn) == turn;
}

static void overrun_on_signal(int signal, siginfo_t *info, void *context) {
    int saved = errno;
    (void)signal, (void)context;
    if (info->si_code == SI_TIMER) {
        for (uint32_t i = 0; i < nest__worker_threads(); i++) {
            (void)overrun_look(getpid(), &overrun.own[i], &overrun.seen[i], nest__clock_ms());
        }
    } else if (info->si_code != SI_QUEUE) { /* as by `ulimit -t` */
        nest__crash_end("crashed: ", "SIGXCPU");
    } else if (overrun_runs((uintptr_t)info->si_value.sival_ptr)) {
        nest__crash_end("ended, because an action ran for longer than actionTimeout:", "");
    }
    errno = saved;
}

/* Without a supervisor. 0 or -1. */
static int overrun_timer(void) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGXCPU};
    uint64_t ms = overrun_period(false);
    struct itimerspec time = {.it_interval = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000}};
    timer_t timer;
    time.it_value = time.it_interval;
    return timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 ? timer_settime(timer, 0, &time, NULL)
                                                              : -1;
}

int nest__overrun_serve(void) {
    struct sigaction report = {.sa_sigaction = overrun_on_signal,
                               .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESTART)};
    sigemptyset(&report.sa_mask);
    sigaction(SIGXCPU, &report, NULL);
    overrun.own = nest__report_own(overrun.at);
    if (overrun.own != NULL || nest__listener_count > 0) {
        return 0; /* a worker, or a process that runs no actions */
    }
    overrun.own = calloc(nest__worker_threads(), sizeof *overrun.own);
    if (overrun.own == NULL ||
        (atomic_load(&nest__config.action_timeout) > 0 && overrun_timer() == -1)) {
        nest__say("cannot start: no timer for actionTimeout");
        return -1;
    }
    return 0;
}

int nest__overrun_start(void) {
    uint32_t slots = nest__config.max_clients > NEST__DISPATCHERS_MOST ? nest__config.max_clients
                                                                       : NEST__DISPATCHERS_MOST;
    sigset_t mine;
    sigemptyset(&mine);
    sigaddset(&mine, SIGXCPU);
    sigprocmask(SIG_UNBLOCK, &mine, NULL);
    overrun.at = nest__report_reserve(nest__worker_threads() * sizeof *overrun.own);
    overrun.seen = calloc(slots, sizeof *overrun.seen);
    if (overrun.seen == NULL) {
        nest__say("no memory for %u clients; lower maxClients", (unsigned)nest__config.max_clients);
        return -ENOMEM;
    }
    return 0;
}
