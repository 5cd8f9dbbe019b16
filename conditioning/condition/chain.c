/* The processes of cc-chain: it judges filters, answers for a running one, or runs the filters.
 * Must not know: gates, the server. */
#define _GNU_SOURCE
#include "condition.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "wire.h"

enum { GRACE = 5 }; /* seconds until a chain that does not end is killed */

pid_t chain;
static unsigned starts; /* of the chain */
static int kept = -1;   /* what the chain was changed to, for the next one */

/* Becomes cc-chain with a mode, its value, and other arguments, which end with NULL. */
static void become_chain(const char *mode, const char *value, char *const *others) {
    char path[4096], number[16], *argv[MOST_FILTERS + 14];
    int count = 0;
    libexec("cc-chain", path, sizeof path);
    snprintf(number, sizeof number, "%u", starts);
    sigprocmask(SIG_SETMASK, &signals_before, NULL);
    const char *words[] = {"cc-chain",
                           "--peek",
                           "--restarts",
                           number,
                           follow_possible() ? "--follow" : NULL,
                           state ? "--state" : NULL,
                           state,
                           mode,
                           value};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i] != NULL)
            argv[count++] = (char *)words[i];
    do {
        argv[count++] = *others;
    } while (*others++ != NULL);
    execv(path, argv);
    say("%s: %s; install it beside this program, or set CC_LIBEXEC", path, strerror(errno));
    _exit(UNAVAILABLE);
}

/* Runs cc-chain until it ends. Returns the exit status as this program has it. */
static int run_chain(const char *mode, const char *value, char *const *others) {
    int result = 0;
    pid_t pid = fork();
    if (pid == 0)
        become_chain(mode, value, others);
    if (pid == -1 || waitpid(pid, &result, 0) == -1) {
        say("cc-chain cannot be started: %s", strerror(errno));
        return UNAVAILABLE;
    }
    if (!WIFEXITED(result)) {
        say("cc-chain was killed by signal %d", WTERMSIG(result));
        return UNAVAILABLE;
    }
    return WEXITSTATUS(result) == 100 ? WRONG_CALL : WEXITSTATUS(result) == 0 ? 0 : UNAVAILABLE;
}

int judge(void) {
    return run_chain("--check", NULL, filters);
}

int ask(const char *command) {
    char *others[] = {(char *)command, NULL};
    return run_chain("--status", state, others);
}

/* The chain judges the filters: what is wrong with them, it says. */
int change(void) {
    char command[4096] = "chain";
    size_t length = strlen(command);
    for (char **filter = filters; *filter != NULL; filter++) {
        int more = snprintf(command + length, sizeof command - length, " %s", *filter);
        if (strpbrk(*filter, " \t\r\n") != NULL || (size_t)more >= sizeof command - length) {
            say("--change takes filters without blanks, of at most 4000 bytes together");
            return WRONG_CALL;
        }
        length += (size_t)more;
    }
    return ask(command);
}

/* The reason, where a descriptor with a certain number was wanted. */
static const char *descriptors(int error) {
    return strerror(error == EINVAL ? EMFILE : error);
}

int start_chain(void) {
    int pair[2];
    if (kept == -1)
        kept = memfd_create("filters", MFD_CLOEXEC);
    if (kept == -1)
        return -1;
    int error = cc__pair(pair);
    if (error != 0) {
        errno = -error;
        return -1;
    }
    chain = fork();
    if (chain == 0) {
        setsid(); /* signals of the terminal are for the launcher */
        char *words[MOST_FILTERS + 3] = {"--keep", "4"};
        memcpy(words + 2, filters, sizeof filters);
        int fd = fcntl(pair[1], F_DUPFD, 10), file = fcntl(kept, F_DUPFD, 10);
        if (fd == -1 || file == -1 || dup2(fd, 3) == -1 || dup2(file, 4) == -1) {
            say("cc-chain cannot be started: %s", descriptors(errno));
            _exit(UNAVAILABLE);
        }
        close_range(5, ~0u, 0);
        become_chain("--serve", "3", words);
    }
    error = errno;
    close(pair[1]);
    if (chain == -1)
        close(pair[0]);
    else
        starts++;
    errno = error;
    return chain == -1 ? -1 : pair[0];
}

bool chain_ready(int control) {
    struct cc__message reply = {.bytes = NULL};
    /* Any message is answered, this one with an error. */
    struct cc__head head = cc__head_of(CC__REPLY);
    int got = cc__send(control, &head, NULL, 0, NULL, 0, 0);
    do {
        got = got == 0 || got == -EINTR ? cc__receive(control, &reply, 0) : got;
    } while (got == -EINTR);
    int result;
    if (got != 1)
        close(control); /* the chain ends, if it has not */
    if (got != 1 && waitpid(chain, &result, 0) == chain) {
        chain = 0;
        if (WIFSIGNALED(result))
            say("cc-chain was killed by signal %d", WTERMSIG(result));
    }
    return got == 1;
}

void end_chain(void) {
    tail_end();
    for (int i = 0; chain > 0 && waitpid(chain, NULL, WNOHANG) == 0; i++) {
        if (i == GRACE * 100)
            kill(chain, SIGKILL);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}
