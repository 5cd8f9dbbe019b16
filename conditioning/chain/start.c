/* Starts a filter, as a child with four descriptors and an environment.
 * Must not know: what filters do, the other filters of its chain. */
#define _GNU_SOURCE
#include "chain.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the child: passes the filter its descriptors and its environment, and runs it. */
static void become(const struct stage *stage, pid_t chain) {
    int fds[4] = {stage->in, stage->out, stage->control, stage->memory};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int i = 0; i < 4; i++)
        fds[i] = fcntl(fds[i], F_DUPFD, 10);
    for (int i = 0; i < 4; i++)
        if (fds[i] == -1 || dup2(fds[i], CCF__IN + i) == -1)
            _exit(TEMPORARY);
    cc__close_from(CCF__COUNTERS + 1, INT_MAX);
    if (stage->strict)
        setenv("CC_STRICT", "1", 1);
    else
        unsetenv("CC_STRICT");
    char place[16];
    snprintf(place, sizeof place, "%u", stage->place);
    setenv("CC_PLACE", place, 1);
    if (peek)
        setenv("CC_PEEK", "1", 1);
    else
        unsetenv("CC_PEEK");
    unsetenv("CC_CHAIN");
    program_run(stage->spec->path, stage->spec->argv, chain);
    _exit(TEMPORARY);
}

void stage_again(struct stage *stage, int error) {
    if (!stage->unstarted)
        say("%s cannot be started: %s; it is tried again", stage->spec->argv[0], strerror(error));
    stage->unstarted = true;
    stage->again = now_ms() + STAGE_PAUSE;
}

int stage_start(struct stage *stage) {
    int pair[2], error = cc__pair(pair);
    if (error != 0)
        return error;
    int ours = pair[0];
    stage->control = pair[1];
    stage->started = now_ms();
    stage->again = 0;
    pid_t self = getpid();
    stage->pid = fork();
    if (stage->pid == 0)
        become(stage, self);
    error = errno;
    close(pair[1]);
    stage->control = ours;
    if (stage->pid == -1) {
        close(ours);
        stage->control = -1;
        stage->pid = 0;
        stage_again(stage, error);
    } else {
        stage->unstarted = false;
    }
    return 0;
}
