/* children.c: forks workers and counts how they end.
 *
 * Called by supervisor.c. State: the table of workers, in private memory, so that no worker can
 * write to it. Must not know how many workers are wanted, which the policy decides, nor how clients
 * are served.
 *
 * The number of opened connections is the sum of those that ended, by reason, and those that
 * crashed. A worker's report counts the ended ones; those that are open when it dies are crashed.
 * An action can write any report: that a worker was to end is believed only if it was told to, or
 * if the configuration lets it end by itself.
 */
#include "children.h"
#include "../platform/platform.h"
#include "../service/filters/filters.h"
#include "../service/kernel/kernel.h"
#include "service_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CHILDREN_WELL_MS = 10 * 1000,  /* a worker that lived this long did not fail at once */
    CHILDREN_UNKNOWN = 1024 * 1024 /* clients that a worker may have had that does not say */
};

static struct {
    struct nest__child *all;
    uint32_t most, live, seen;
    uint32_t lowest; /* numbers below this one are not free */
    struct nest__backoff backoff;
    int over;    /* the highest exit status of those that exited; -1: none has */
    bool failed; /* a worker of many clients died during the stop */
} children = {.over = -1};

int nest__children_prepare(uint32_t most) {
    children.all = calloc(most, sizeof *children.all);
    children.most = most;
    return children.all == NULL ? -ENOMEM : 0;
}

uint32_t nest__children_most(void) {
    return children.most;
}

uint32_t nest__children_live(void) {
    return children.live;
}

uint32_t nest__children_seen(void) {
    return children.seen;
}

const struct nest__child *nest__child(uint32_t worker) {
    return &children.all[worker];
}

int nest__children_over(void) {
    return children.over;
}

bool nest__children_failed(void) {
    return children.failed;
}

void nest__children_hurry(void) {
    children.backoff.not_before = 0;
}

void nest__children_signal(int signal) {
    for (uint32_t worker = 0; worker < children.seen; worker++) {
        struct nest__child *child = &children.all[worker];
        if (child->pid != 0) {
            child->killed = child->killed || signal == SIGKILL;
            child->told = true;
            kill(child->pid, signal);
        }
    }
}

void nest__child_dismiss(uint32_t worker) {
    children.all[worker].told = true;
    kill(children.all[worker].pid, SIGHUP);
}

/* -- forking -------------------------------------------------------------------------------------
 */

/* The lowest number that is free. */
static uint32_t children_lowest(void) {
    while (children.all[children.lowest].pid != 0) {
        children.lowest++;
    }
    return children.lowest;
}

/* 0, or -errno if the fork fails. The policy is told first, because the worker may end before the
 * parent continues. */
static int children_fork(void) {
    uint32_t worker = children_lowest();
    struct nest__child *child = &children.all[worker];
    nest__report_clear(worker);
    nest__policy_fork(worker);
    children.seen = worker < children.seen ? children.seen : worker + 1;
    atomic_store(&((struct nest__orders *)nest__orders_page)->seen, children.seen);
    pid_t pid = fork();
    if (pid == 0) {
        nest__child_main(worker, child->life);
    }
    if (pid == -1) {
        int error = errno;
        (void)nest__policy_gone(worker);
        return -error;
    }
    children.live++;
    child->pid = pid;
    child->begun = nest__clock_ms();
    child->killed = child->told = false;
    return 0;
}

int nest__children_replenish(void) {
    uint32_t wanted = nest__policy_wanted();
    while (wanted > 0 && children.live < children.most) {
        int left = nest__backoff_left(&children.backoff);
        if (left > 0) {
            return left;
        }
        int error = children_fork();
        if (error != 0) {
            bool first = children.backoff.failures == 0;
            uint32_t delay = nest__backoff_more(&children.backoff);
            if (first) {
                nest__say_no_fork(-error, delay);
            }
            return (int)delay;
        }
        wanted--;
    }
    return -1;
}

/* -- ends ----------------------------------------------------------------------------------------
 */

/* Counts the end of a worker of many clients: its open connections are lost. */
static void children_died_many(const struct nest__child *child, const struct nest__told *told,
                               int status) {
    uint64_t lost = told->ended[NEST_OPEN];
    bool stopping = nest__phase() != NEST__SERVING;
    bool well = nest__clock_ms() - child->begun >= CHILDREN_WELL_MS;
    uint32_t delay = 0;
    if (well) { /* the next one will probably serve as long */
        children.backoff.failures = 0;
    } else {
        delay = nest__backoff_more(&children.backoff);
    }
    if (stopping) {
        nest__cut_add(lost);
        children.failed = true;
    }
    nest__say_died_serving_many(child->pid, status, lost, child->killed, delay);
}

/* A worker of many clients was to end: it was not wanted any more, the server stops, or no client
 * came for a long time. A status that is not 0 then says that clients were cut off; while the
 * server runs, EXIT_FAILURE says that the worker could not begin. So the server cannot, unless it
 * takes the place of one that could: then what it lacks may be short for the moment. */
static bool children_was_to_end(const struct nest__child *child, const struct nest__told *told,
                                int status, bool wanted) {
    if (!told->over || !WIFEXITED(status)) {
        return false;
    }
    int failed = WEXITSTATUS(status);
    return !wanted || nest__phase() != NEST__SERVING ||
           (failed == EXIT_FAILURE && child->life == 0) ||
           (failed == EXIT_SUCCESS && nest__listen_idle_exit() > 0);
}

/* `served`: the policy still wanted it. */
static void children_account_many(const struct nest__child *child, const struct nest__told *told,
                                  int status, bool served) {
    for (int reason = 0; reason < NEST_REASONS; reason++) {
        nest__count((enum nest_reason)reason, told->ended[reason]);
    }
    nest__count(NEST_OPEN, told->lost);
    nest__cut_add(told->cut);
    if (!children_was_to_end(child, told, status, served)) {
        children_died_many(child, told, status);
    } else if (!served && WEXITSTATUS(status) == 0) {
        children.backoff.failures = 0;
    } else {
        children.over = WEXITSTATUS(status) > children.over ? WEXITSTATUS(status) : children.over;
    }
}

/* How a worker's only connection has ended; NEST_OPEN: the worker died before END. */
static enum nest_reason children_reason(const struct nest__told *told) {
    enum nest_reason reason = NEST_OPEN;
    for (unsigned i = NEST_OPEN + 1; i < NEST_REASONS; i++) {
        if (told->ended[i] > 1 || (told->ended[i] == 1 && reason != NEST_OPEN)) {
            return NEST_OPEN; /* impossible for one connection */
        }
        reason = told->ended[i] == 1 ? (enum nest_reason)i : reason;
    }
    return reason;
}

static void children_account_one(const struct nest__child *child, const struct nest__told *told,
                                 int status) {
    enum nest_reason reason = children_reason(told);
    bool lost = reason == NEST_OPEN;
    nest__count(reason, 1);
    nest__cut_add(told->cut != 0 || (child->killed && lost));
    children.backoff.failures = 0;
    if (child->killed || nest__on_pause()) {
        return; /* it is said of all at once */
    }
    if (lost) {
        nest__say_died_serving_one(child->pid, status);
    } else if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
        nest__say_ended_itself(child->pid, status);
    }
}

/* A worker that serves one client after another ended without a reason that is known here. */
static bool children_left(const struct nest__child *child, uint64_t clients) {
    uint32_t most = atomic_load(&nest__config.clients_per_worker);
    return !child->told && nest__phase() == NEST__SERVING && (most == 0 || clients < most);
}

/* A worker that served one client after another: at most one is lost. True: it had none at all. */
static bool children_account_successive(struct nest__child *child, const struct nest__told *told,
                                        int status) {
    bool lost = told->ended[NEST_OPEN] > 0;
    uint64_t clients = lost;
    for (int reason = NEST_OPEN + 1; reason < NEST_REASONS; reason++) {
        nest__count((enum nest_reason)reason, told->ended[reason]);
        clients += told->ended[reason];
    }
    nest__count(NEST_OPEN, lost);
    nest__cut_add(told->cut + (child->killed && lost));
    child->life += told->spoiled ? CHILDREN_UNKNOWN : (uint32_t)clients;
    children.backoff.failures = clients > 0 ? 0 : children.backoff.failures;
    if (child->killed || nest__on_pause()) {
        return false; /* it is said of all at once */
    }
    if (lost || told->spoiled) {
        nest__say_died_serving_one(child->pid, status);
        return false;
    }
    bool left = WIFEXITED(status) && (WEXITSTATUS(status) != 0 || children_left(child, clients));
    if (clients > 0 && left) {
        nest__say_ended_itself(child->pid, status);
    }
    return clients == 0 && (left || status != 0);
}

/* The worker closed its report and counted no end: it never had a client, or one whose handshake
 * failed. */
static bool children_unused(const struct nest__told *told) {
    uint64_t ended = 0;
    for (unsigned i = NEST_OPEN; i < NEST_REASONS; i++) {
        ended |= told->ended[i];
    }
    return told->over && ended == 0;
}

/* Counts how a worker ended. True: it failed before it had a client. */
static bool children_account(uint32_t worker, int status) {
    struct nest__child *child = &children.all[worker];
    struct nest__told told = nest__report_read(worker);
    bool served = nest__policy_gone(worker);
    if (told.spoiled && (nest__policy_many || nest__policy_successive)) {
        nest__say_spoiled(child->pid);
    }
    if (nest__policy_many) {
        children_account_many(child, &told, status, served);
        return false;
    }
    if (nest__policy_successive) {
        return children_account_successive(child, &told, status) && nest__phase() == NEST__SERVING;
    }
    if (served && !children_unused(&told)) {
        children_account_one(child, &told, status);
        return false;
    }
    if (served && status == 0) {
        return false; /* its client's handshake failed */
    }
    return (status != 0 || !child->told) && nest__phase() == NEST__SERVING;
}

void nest__children_reap(void) {
    int status, failure = 0;
    pid_t pid, failed = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (nest__service_process_reaped(pid, status) || nest__filters_reaped(pid, status) ||
            nest__kernel_reaped(pid, status)) {
            continue;
        }
        for (uint32_t worker = 0; worker < children.seen; worker++) {
            struct nest__child *child = &children.all[worker];
            if (child->pid == pid) { /* otherwise it is a child of start-up code */
                if (children_account(worker, status)) {
                    failed = pid;
                    failure = status;
                }
                nest__on_reaped(worker);
                if (!WIFEXITED(status)) {
                    nest__on_lost(pid);
                }
                child->pid = 0;
                child->life++;
                children.lowest = worker < children.lowest ? worker : children.lowest;
                children.live--;
                break;
            }
        }
    }
    if (failed != 0) { /* one message, however many died together */
        bool first = children.backoff.failures == 0;
        uint32_t delay = nest__backoff_more(&children.backoff);
        if (first) {
            nest__say_died_idle(failed, failure, delay);
        }
    }
}
