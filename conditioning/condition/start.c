/* The processes of the launcher: the chain, the server, and a guard that ends the server when the
 * launcher was killed.
 * Must not know: gates, held calls. */
#define _GNU_SOURCE
#include "condition.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "wire.h"

#ifndef CC_LIBEXEC
#define CC_LIBEXEC "/usr/local/libexec/cc"
#endif

enum {
    GRACE = 5,       /* seconds from TERM to KILL */
    LIBRARY_FD = 100 /* the library's socket has this number or a higher one in the server */
};

pid_t server, chain, guard_process;
sigset_t signals_before;

static unsigned starts; /* of the chain */
static int kept = -1;   /* what the chain was changed to, for the next one */
static int guard_end = -1;

void libexec(const char *name, char *path, size_t room) {
    const char *place = secure_getenv("CC_LIBEXEC");
    snprintf(path, room, "%s/%s", place != NULL ? place : CC_LIBEXEC, name);
}

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

/* Forks the server, with its end of a pair in pair[1], which only it keeps. Returns 0 in it, and in
 * the launcher 1 or -errno. Its process group is its own: some servers signal all of it. */
static int fork_server(int pair[2]) {
    int error = cc__pair(pair);
    if (error != 0) {
        say("the server cannot be started: %s", strerror(-error));
        return error;
    }
    server = fork();
    if (server == 0) {
        setpgid(0, 0);
        sigprocmask(SIG_SETMASK, &signals_before, NULL);
        return 0;
    }
    error = -errno;
    close(pair[1]);
    if (server == -1) {
        say("the server cannot be started: %s", strerror(-error));
        close(pair[0]);
        return error;
    }
    setpgid(server, server);
    return 1;
}

static _Noreturn void become(char **command) {
    execvp(command[0], command);
    say("%s: %s", command[0], strerror(errno));
    _exit(errno == ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}

int start_server(char **command) {
    struct cc__message message = {.bytes = NULL};
    int pair[2];
    int forked = fork_server(pair);
    if (forked < 0)
        return forked;
    if (forked == 0) {
        struct cc__head head = cc__head_of(CC__ATTACH);
        int fd = trap_install();
        if (fd < 0) {
            const char *hint = fd == -EBUSY ? "another program holds them already, such as a "
                                              "cc-condition that has started this one"
                               : fd == -EPERM || fd == -EACCES
                                   ? "run it with CAP_SYS_ADMIN, or where no_new_privs can be "
                                     "set; --by preload needs neither"
                                   : "the system must allow seccomp; --by preload does without";
            say("calls of the server cannot be held: %s: %s", strerror(-fd), hint);
            _exit(UNAVAILABLE);
        }
        int error = cc__send(pair[1], &head, NULL, 0, &fd, 1, 0);
        if (error != 0) {
            say("calls of the server cannot be held: %s", strerror(-error));
            _exit(UNAVAILABLE);
        }
        become(command);
    }
    int got = cc__receive(pair[0], &message, 0);
    close(pair[0]);
    if (got < 0) /* and if nothing has come, the server's process has said why */
        say("calls of the server cannot be held: %s", strerror(-got));
    return got == 1 ? message.fds[0] : -ECHILD;
}

int start_preloaded(char **command) {
    char library[4096], loaded[8192], number[16];
    const char *others = getenv("LD_PRELOAD");
    int pair[2], free = fcntl(kept, F_DUPFD_CLOEXEC, LIBRARY_FD);
    if (free == -1) {
        say("the library needs descriptor %d: %s", LIBRARY_FD, descriptors(errno));
        return -EMFILE;
    }
    close(free);
    int forked = fork_server(pair);
    if (forked < 0)
        return forked;
    if (forked == 0) {
        libexec("cc-preload.so", library, sizeof library);
        snprintf(loaded, sizeof loaded, "%s%s%s", library, others != NULL ? ":" : "",
                 others != NULL ? others : "");
        snprintf(number, sizeof number, "%d", fcntl(pair[1], F_DUPFD, LIBRARY_FD));
        setenv("LD_PRELOAD", loaded, 1);
        setenv("CC_CONDITION", number, 1);
        unsetenv("CC_CONDITION_OPTIONS");
        if (options)
            setenv("CC_CONDITION_OPTIONS", "1", 1);
        become(command);
    }
    return pair[0];
}

int stop_server(void) {
    int result = -1;
    kill(-server, SIGTERM);
    for (int i = 0; waitpid(server, &result, WNOHANG) == 0; i++) {
        if (i == GRACE * 100)
            kill(-server, SIGKILL);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return result;
}

void end_server(int number) {
    char path[64];
    int pid;
    kill(-server, number);
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *in = fopen(path, "re");
    while (in != NULL && fscanf(in, "%d", &pid) == 1)
        if (pid != server && pid != guard_process && pid != chain && getpgid(pid) != server)
            kill(pid, number);
    if (in != NULL)
        fclose(in);
}

/* Ends the server's processes when the launcher was killed: nobody would answer their calls. */
bool start_guard(void) {
    int ends[2];
    char byte;
    if (pipe2(ends, O_CLOEXEC) == -1)
        return false;
    pid_t pid = fork();
    if (pid != 0) {
        close(ends[0]);
        if (guard_end != -1)
            close(guard_end);
        guard_end = ends[1];
        guard_process = pid;
        return pid != -1;
    }
    close_range(3, (unsigned)ends[0] - 1, 0);
    close_range((unsigned)ends[0] + 1, ~0u, 0);
    setsid();
    while (read(ends[0], &byte, 1) == -1 && errno == EINTR)
        continue;
    kill(-server, SIGTERM);
    for (int i = 0; i < GRACE * 10 && kill(-server, 0) == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    kill(-server, SIGKILL);
    _exit(0);
}

void end_guard(void) {
    kill(guard_process, SIGKILL);
}
