/* cc_createlsock: the listening socket, and the chain of filters that takes it over.
 *
 * The chain is run by the program cc-chain, which is either started here or has started this server
 * and then names its socket in the environment variable CC_CHAIN. */
#define _GNU_SOURCE
#include "cc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "table.h"

#ifndef CC_LIBEXEC
#define CC_LIBEXEC "/usr/local/libexec/cc"
#endif

/* The socket of the cc-chain that started this process, or -1. */
static int inherited_chain(void) {
    const char *text = secure_getenv("CC_CHAIN");
    if (text == NULL || *text == '\0')
        return -1;
    int fd = atoi(text), type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == -1 || type != SOCK_SEQPACKET)
        return -1;
    return fcntl(fd, F_DUPFD_CLOEXEC, 10);
}

/* Becomes cc-chain. Only calls that are safe in the child of a process with threads. */
static void become_chain(const char *path, char **argv, int control) {
    int fd = fcntl(control, F_DUPFD, 10);
    setsid();
    if (fd == -1 || dup2(fd, 3) == -1)
        _exit(111);
    close_range(4, ~0u, 0);
    execv(path, argv);
    struct cc__head head = cc__head_of(CC__REPLY);
    head.demand = (uint32_t)errno;
    cc__send(3, &head, NULL, 0, NULL, 0, 0);
    _exit(111);
}

/* Starts cc-chain with the filters, first the one that accepts. Returns its socket or -errno. */
static int start_chain(char *filters[]) {
    char path[4096];
    const char *place = secure_getenv("CC_LIBEXEC");
    int count = 0;
    while (filters[count] != NULL)
        count++;
    if (snprintf(path, sizeof path, "%s/cc-chain", place != NULL ? place : CC_LIBEXEC) >=
        (int)sizeof path)
        return -ENAMETOOLONG;
    char **argv = calloc((size_t)count + 4, sizeof *argv);
    if (argv == NULL)
        return -ENOMEM;
    argv[0] = (char *)"cc-chain";
    argv[1] = (char *)"--serve";
    argv[2] = (char *)"3";
    for (int i = 0; i < count; i++)
        argv[3 + i] = filters[count - 1 - i];
    int pair[2];
    int error = cc__pair(pair);
    if (error != 0) {
        free(argv);
        return error;
    }
    /* A grandchild: the server is not to find it among the children that it waits for. */
    pid_t pid = fork();
    if (pid == 0) {
        if (_Fork() == 0)
            become_chain(path, argv, pair[1]);
        _exit(0);
    }
    error = pid == -1 ? -errno : 0;
    while (pid > 0 && waitpid(pid, NULL, 0) == -1 && errno == EINTR)
        continue;
    free(argv);
    close(pair[1]);
    if (error != 0)
        close(pair[0]);
    return error != 0 ? error : pair[0];
}

/* Makes a socket that listens on an address. Returns it or -errno. */
static int listen_on(const struct sockaddr *addr, socklen_t addrlen, int backlog) {
    int on = 1;
    int s = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s == -1)
        return -errno;
    if (addr->sa_family != AF_UNIX)
        setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(s, addr, addrlen) == -1 || listen(s, backlog) == -1) {
        int error = -errno;
        close(s);
        return error;
    }
    return s;
}

/* Gives the listening socket to the chain and waits for its answer. Returns 0 or -errno; the hop's
 * end of the server is then in hop[0]. */
static int give(int control, int s, int hop[2]) {
    struct cc__message reply = {.bytes = NULL};
    struct cc__head head = cc__head_of(CC__LISTEN);
    int error = cc__pair(hop);
    if (error != 0)
        return error;
    int fds[3] = {s, hop[1], hop[0]};
    error = cc__send(control, &head, NULL, 0, fds, 3, 0);
    int got = 0;
    do {
        got = cc__receive(control, &reply, 0);
    } while (got == -EINTR);
    close(hop[1]);
    if (got == 1)
        error = reply.head.type == CC__REPLY ? -(int)reply.head.demand : -EPROTO;
    else if (error == 0 || got == 0)
        error = got == 0 ? -EINVAL : got; /* it ended, and has said why */
    if (error != 0)
        close(hop[0]);
    return error;
}

int cc_createlsock_at(const struct sockaddr *addr, socklen_t addrlen, int backlog,
                      char *filters[]) {
    int fd = -1, hop[2];
    int control = inherited_chain();
    int s = listen_on(addr, addrlen, backlog);
    if (s >= 0 && control == -1 && (filters == NULL || filters[0] == NULL))
        return s;
    int error = s < 0 ? s : 0;
    if (error == 0 && control == -1) {
        control = start_chain(filters);
        error = control < 0 ? control : 0;
    }
    if (error == 0)
        error = give(control, s, hop);
    if (s >= 0)
        close(s);
    if (error == 0) {
        pthread_mutex_lock(&cc__lock);
        struct cc__link *link = cc__link_new(hop[0], control, addr->sa_family, &fd);
        error = link == NULL ? -errno : 0;
        pthread_mutex_unlock(&cc__lock);
        if (error != 0)
            close(hop[0]);
    }
    if (error != 0) {
        if (control >= 0)
            close(control);
        errno = -error;
        return -1;
    }
    return fd;
}

int cc_createlsock(struct in_addr sin_addr, in_port_t sin_port, int backlog, char *filters[]) {
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr = sin_addr, .sin_port = sin_port};
    return cc_createlsock_at((struct sockaddr *)&addr, sizeof addr, backlog, filters);
}
