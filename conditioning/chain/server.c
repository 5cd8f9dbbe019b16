/* Starts the server of a chain, which finds the chain by an environment variable (libcc/listen.c).
 * Must not know: filters. */
#define _GNU_SOURCE
#include "chain.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool server_start(char **argv, pid_t *server, int *control) {
    int pair[2];
    char number[16];
    int error = cc__pair(pair);
    if (error != 0) {
        errno = -error;
        return false;
    }
    *control = pair[0];
    *server = fork();
    if (*server == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        int fd = fcntl(pair[1], F_DUPFD, 10);
        snprintf(number, sizeof number, "%d", fd);
        setenv("CC_CHAIN", number, 1);
        execvp(argv[0], argv);
        say("%s: %s", argv[0], strerror(errno));
        _exit(127);
    }
    error = errno;
    close(pair[1]);
    errno = error;
    return *server > 0;
}
