/* service_process.c: one process beside the workers, in which the tasks of this server run.
 *
 * Called by supervisor.c. State: whether it runs, the supervisor's; in the process itself, whether
 * it is to end. It has no listening socket and serves no client, so that its death is noticed by
 * nobody. Must not know what tasks do. */
#include "service_process.h"
#include "../platform/platform.h"
#include "children.h"
#include "supervisor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SERVICE_PROCESS_WELL_MS = 10 * 1000, /* one that ran as long did not die at once */
    SERVICE_PROCESS_GRACE_MS = 1000,
    SERVICE_PROCESS_LOOK_MS = 5,
};

static struct {
    pid_t pid; /* 0: there is none */
    uint64_t begun;
    struct nest__backoff backoff;
} service_process;

/* -- in the process ------------------------------------------------------------------------------
 */

struct service_process_turn { /* of a task */
    uint64_t due;             /* ms; 0: when a descriptor is ready */
    struct pollfd waits[NEST__TASK_WAITS];
    unsigned n;
};

static void service_process_step(unsigned task, struct service_process_turn *turn) {
    int again = nest__tasks[task]->step(turn->waits, turn->n);
    turn->due = again < 0 ? 0 : nest__clock_ms() + (uint64_t)again;
}

/* Waits for all tasks at once, and for TERM. True: go on. */
static bool service_process_wait(struct service_process_turn *turns, struct pollfd *all) {
    uint64_t now = nest__clock_ms();
    int timeout = -1;
    nfds_t n = 1;
    for (unsigned task = 0; task < nest__task_count; task++) {
        struct service_process_turn *turn = &turns[task];
        turn->n = nest__tasks[task]->waits(turn->waits);
        memcpy(all + n, turn->waits, turn->n * sizeof *all);
        n += turn->n;
        if (turn->due != 0) {
            timeout = nest__sooner(timeout, turn->due > now ? (int)(turn->due - now) : 0);
        }
    }
    if (poll(all, n, timeout) == -1) {
        return errno == EINTR;
    }
    nfds_t at = 1;
    for (unsigned task = 0; task < nest__task_count; task++) {
        memcpy(turns[task].waits, all + at, turns[task].n * sizeof *all);
        at += turns[task].n;
    }
    return all[0].revents == 0;
}

static bool service_process_ready(const struct service_process_turn *turn) {
    bool ready = turn->due != 0 && nest__clock_ms() >= turn->due;
    for (unsigned i = 0; i < turn->n; i++) {
        ready = ready || turn->waits[i].revents != 0;
    }
    return ready;
}

/* TERM is read from a descriptor: a step is never interrupted. */
static int service_process_term(void) {
    sigset_t term, others;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigemptyset(&others);
    sigaddset(&others, SIGHUP);
    sigaddset(&others, SIGINT); /* of a terminal, meant for the supervisor, which says TERM */
    sigaddset(&others, SIGCHLD);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    sigprocmask(SIG_UNBLOCK, &others, NULL);
    return signalfd(-1, &term, SFD_NONBLOCK | SFD_CLOEXEC);
}

static int service_process_run(void) {
    struct service_process_turn *turns = calloc(nest__task_count, sizeof *turns);
    struct pollfd *all = calloc(1 + nest__task_count * NEST__TASK_WAITS, sizeof *all);
    int term = service_process_term();
    if (turns == NULL || all == NULL || term == -1) {
        return EXIT_FAILURE;
    }
    for (unsigned task = 0; task < nest__task_count; task++) {
        int error = nest__tasks[task]->begin();
        if (error != 0) {
            nest__say("cannot start %s: %s", nest__tasks[task]->name, strerror(-error));
            return EXIT_FAILURE;
        }
        service_process_step(task, &turns[task]);
    }
    all[0] = (struct pollfd){.fd = term, .events = POLLIN};
    while (service_process_wait(turns, all)) {
        for (unsigned task = 0; task < nest__task_count; task++) {
            if (service_process_ready(&turns[task])) {
                service_process_step(task, &turns[task]);
            }
        }
    }
    for (unsigned task = 0; task < nest__task_count; task++) {
        if (nest__tasks[task]->end != NULL) {
            nest__tasks[task]->end();
        }
    }
    free(turns);
    free(all);
    return EXIT_SUCCESS;
}

static _Noreturn void service_process_main(void) {
    nest__child_release();
    nest__listen_close(); /* only the process that made a Unix socket removes its file */
    nest__crash_install("service process", "another takes its place");
    if (nest__on_serve() != 0 || nest__parent_watch(SIGTERM, nest__supervisor()) != 0) {
        _exit(EXIT_FAILURE);
    }
    int status = service_process_run();
    fflush(NULL);
    _exit(status);
}

/* -- in the supervisor ---------------------------------------------------------------------------
 */

int nest__service_process_mind(void) {
    if (service_process.pid != 0 && nest__on_pause()) {
        kill(service_process.pid, SIGKILL);
    }
    if (service_process.pid != 0 || nest__on_pause()) {
        return -1;
    }
    int left = nest__backoff_left(&service_process.backoff);
    if (left > 0) {
        return left;
    }
    pid_t pid = fork();
    if (pid == 0) {
        service_process_main();
    }
    if (pid == -1) {
        return (int)nest__backoff_more(&service_process.backoff);
    }
    service_process.pid = pid;
    service_process.begun = nest__clock_ms();
    return -1;
}

bool nest__service_process_reaped(pid_t pid, int status) {
    char end[64];
    if (pid != service_process.pid) {
        return false;
    }
    if (nest__clock_ms() - service_process.begun >= SERVICE_PROCESS_WELL_MS) {
        service_process.backoff.failures = 0;
    }
    service_process.pid = 0;
    uint32_t delay = nest__backoff_more(&service_process.backoff);
    bool told = nest__phase() != NEST__SERVING && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!told) { /* a TERM for all processes of the server */
        nest__exit_text(status, end);
        nest__say("the service process %ld %s; it is replaced in %u ms", (long)pid, end,
                  (unsigned)delay);
    }
    return true;
}

bool nest__service_process_runs(void) {
    return service_process.pid != 0;
}

void nest__service_process_end(void) {
    int status;
    pid_t pid = service_process.pid;
    if (pid == 0) {
        return;
    }
    uint64_t end = nest__clock_ms() + SERVICE_PROCESS_GRACE_MS;
    kill(pid, SIGTERM);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (nest__clock_ms() >= end) {
            kill(pid, SIGKILL);
            (void)waitpid(pid, &status, 0);
            return;
        }
        (void)poll(NULL, 0, SERVICE_PROCESS_LOOK_MS);
    }
}
