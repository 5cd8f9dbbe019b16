/* The processes of the launcher: the server, and a guard that ends the server when the launcher was
 * killed; for the chain, see chain.c.
 * Must not know: gates, held calls. */
#define _GNU_SOURCE
#include "condition.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

pid_t server, guard_process;
sigset_t signals_before;

static int guard_end = -1;

void libexec(const char *name, char *path, size_t room) {
    const char *place = secure_getenv("CC_LIBEXEC");
    snprintf(path, room, "%s/%s", place != NULL ? place : CC_LIBEXEC, name);
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
    int pair[2];
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur <= LIBRARY_FD) {
        say("the library needs descriptor %d, but at most %lu are allowed (ulimit -n)", LIBRARY_FD,
            (unsigned long)files.rlim_cur);
        return -EMFILE;
    }
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
