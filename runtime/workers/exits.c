/* exits.c: what the supervisor says of workers that end otherwise than they should.
 *
 * Called by children.c and supervisor.c. No state. Must not know why they end. */
#include "../platform/platform.h"
#include "children.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

void nest__exit_text(int status, char text[64]) {
    if (WIFSIGNALED(status)) {
        snprintf(text, 64, "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    } else {
        snprintf(text, 64, "ended by itself with status %d", WEXITSTATUS(status));
    }
}

void nest__say_died_serving_many(pid_t pid, int status, uint64_t lost, bool killed,
                                 uint32_t delay) {
    char end[64], next[64] = "the server ends";
    nest__exit_text(status, end);
    if (nest__phase() == NEST__SERVING && delay == 0) {
        snprintf(next, sizeof next, "it is replaced at once");
    } else if (nest__phase() == NEST__SERVING) {
        snprintf(next, sizeof next, "it is replaced in %u ms", (unsigned)delay);
    }
    nest__say("worker %ld %s, and %llu %s lost; %s", (long)pid,
              killed ? "did not end in time and was killed" : end, (unsigned long long)lost,
              lost == 1 ? "client was" : "clients were", next);
}

void nest__say_died_serving_one(pid_t pid, int status) {
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    switch (number) {
    case SIGSEGV: /* the worker has reported these itself (platform/crash.c) */
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGABRT:
    case SIGTRAP:
        break;
    case 0:
        nest__say("worker %ld ended by itself with status %d in an action, and its client was lost",
                  (long)pid, WEXITSTATUS(status));
        break;
    default:
        nest__say("worker %ld was killed by signal %d (%s), and its client was lost", (long)pid,
                  number, strsignal(number));
        break;
    }
}

void nest__say_ended_itself(pid_t pid, int status) {
    nest__say("worker %ld ended by itself with status %d, though nobody had told it to", (long)pid,
              WEXITSTATUS(status));
}

void nest__say_died_idle(pid_t pid, int status, uint32_t delay) {
    nest__say("worker %ld ended before it had a client (%s %d); it is replaced in %u ms", (long)pid,
              WIFSIGNALED(status) ? "signal" : "status",
              WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), (unsigned)delay);
}

void nest__say_spoiled(pid_t pid) {
    nest__say("an action of process %ld has overwritten memory of the server: clients of this "
              "process are missing in the counts",
              (long)pid);
}

void nest__say_no_fork(int error, uint32_t delay) {
    nest__say("cannot fork a worker: %s; the next attempt is in %u ms", strerror(error),
              (unsigned)delay);
}

void nest__say_killing(uint32_t workers) {
    nest__say("%u %s did not end in time and %s killed", (unsigned)workers,
              workers == 1 ? "worker" : "workers", workers == 1 ? "was" : "were");
}
