/* A server for tests, in every style that the library serves.
 *
 *     server STYLE PORT LOG [FILTER...]     STYLE: loop, prefork, poll, select, epoll, threads
 *
 * It answers with what it knows of a request. Each request is written to LOG as soon as the server
 * has it. What the target begins with:  /slow waits 300 ms, /die kills the process, /fork lets a
 * child answer, /forkN kills parent or child at step N of cc_fork, /close closes for good, /hold
 * waits 3 s. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cc.h"
#include "table.h"

static int log_fd, die_at = -1;
static pid_t parent;

static void on_step(int step) {
    if (step == die_at)
        raise(SIGKILL);
}

static int descriptors(void) {
    int count = -1; /* of the directory itself */
    DIR *dir = opendir("/proc/self/fd");
    while (dir != NULL && readdir(dir) != NULL)
        count++;
    if (dir != NULL)
        closedir(dir);
    return count - 2;
}

/* Reads a whole request: its head, and a body of known length. Returns its size. */
static size_t read_request(int c, char *request, size_t room) {
    size_t have = 0;
    struct iovec parts[2] = {{request, 10}, {request + 10, 20}};
    ssize_t got = cc_readv(c, parts, 2);
    while (got > 0) {
        have += (size_t)got;
        request[have] = '\0';
        char *end = strstr(request, "\r\n\r\n");
        char *length = strcasestr(request, "content-length:");
        if (end != NULL && (length == NULL || length > end ||
                            have >= (size_t)(end + 4 - request) + strtoul(length + 15, NULL, 10)))
            break;
        got = have % 2 == 0 ? cc_read(c, request + have, room - 1 - have)
                            : cc_recv(c, request + have, room - 1 - have, 0);
    }
    return have;
}

static void answer(int c, const char *target, size_t size, unsigned hash, const char *from) {
    char body[512], head[256];
    int n = snprintf(body, sizeof body, "target=%s size=%zu hash=%u from=%s pid=%d fds=%d\n",
                     target, size, hash, from, (int)getpid(), descriptors());
    int h = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", n);
    send(c, head, (size_t)h, MSG_NOSIGNAL | MSG_MORE);
    send(c, body, (size_t)n, MSG_NOSIGNAL);
}

static void serve(int c, const struct sockaddr_storage *peer) {
    enum { ROOM = 4 << 20 };
    char *request = malloc(ROOM), target[256] = "?", line[400], from[64] = "-";
    size_t size = read_request(c, request, ROOM);
    unsigned hash = 5381;
    for (size_t i = 0; i < size; i++)
        hash = hash * 33 + (unsigned char)request[i];
    request[size] = '\0';
    if (strncmp(request, "PROXY", 5) == 0 && strchr(request, '\n') != NULL)
        snprintf(target, sizeof target, "%.*s", (int)strcspn(request, "\r"), request);
    else
        sscanf(request, "%*s %255s", target);
    const struct sockaddr_in *in = (const void *)peer;
    const struct sockaddr_in6 *in6 = (const void *)peer;
    if (peer->ss_family == AF_INET)
        inet_ntop(AF_INET, &in->sin_addr, from, sizeof from);
    else if (peer->ss_family == AF_INET6)
        inet_ntop(AF_INET6, &in6->sin6_addr, from, sizeof from);
    int n = snprintf(line, sizeof line, "%d %s\n", (int)getpid(), target);
    if (write(log_fd, line, (size_t)n) != n)
        abort();
    free(request);
    bool child = false;
    if (strncmp(target, "/slow", 5) == 0)
        usleep(300000);
    if (strncmp(target, "/hold", 5) == 0)
        sleep(3);
    if (strncmp(target, "/die", 4) == 0)
        raise(SIGKILL);
    if (strncmp(target, "/fork", 5) == 0) {
        die_at = target[5] >= '0' && target[5] <= '9' ? target[5] - '0' : -1;
        cc__fork_step = on_step;
        pid_t pid = cc_fork();
        child = pid == 0;
        if (pid > 0) {
            cc_close(c, 0);
            waitpid(pid, NULL, 0);
            return;
        }
        usleep(50000);
    }
    int other = cc_dup(c);
    answer(other, target, size, hash, from);
    cc_close(c, 0);
    cc_close(other, strncmp(target, "/close", 6) == 0);
    if (child)
        _exit(0);
}

static bool take(int s, int flags) {
    struct sockaddr_storage peer = {0};
    socklen_t size = sizeof peer;
    int c = cc_accept4(s, (struct sockaddr *)&peer, &size, flags);
    if (c >= 0)
        serve(c, &peer);
    else if (errno == ESHUTDOWN)
        exit(0);
    return c >= 0;
}

static void *thread(void *s) {
    for (;;)
        take(*(int *)s, 0);
    return NULL;
}

/* Serves by readiness: both the listening descriptor and a new connection are waited for. */
static void serve_ready(int c, const struct sockaddr_storage *peer, char style) {
    fd_set set;
    struct pollfd polled = {c, POLLIN, 0};
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = c};
    int ready = 0;
    if (style == 's') {
        FD_ZERO(&set);
        FD_SET(c, &set);
        ready = cc_select(c + 1, &set, NULL, NULL, NULL);
    } else if (style == 'p') {
        ready = cc_poll(&polled, 1, -1);
    } else {
        int epfd = epoll_create1(0);
        cc_epoll_ctl(epfd, EPOLL_CTL_ADD, c, &event);
        ready = cc_epoll_wait(epfd, &event, 1, -1);
        if (event.data.fd != c)
            abort();
        close(epfd);
    }
    if (ready != 1)
        abort();
    serve(c, peer);
}

static void events(int s, char style) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = s};
    int epfd = epoll_create1(EPOLL_CLOEXEC);
    fcntl(s, F_SETFL, O_NONBLOCK);
    cc_epoll_ctl(epfd, EPOLL_CTL_ADD, s, &event);
    for (;;) {
        fd_set set;
        struct pollfd polled = {s, POLLIN, 0};
        FD_ZERO(&set);
        FD_SET(s, &set);
        if (style == 's')
            cc_select(s + 1, &set, NULL, NULL, NULL);
        else if (style == 'p')
            cc_poll(&polled, 1, -1);
        else
            cc_epoll_wait(epfd, &event, 1, -1);
        struct sockaddr_storage peer = {0};
        socklen_t size = sizeof peer;
        int c = cc_accept4(s, (struct sockaddr *)&peer, &size, 0);
        if (c >= 0)
            serve_ready(c, &peer, style);
        else if (errno == ESHUTDOWN)
            exit(0);
        else if (errno != EAGAIN && errno != EINTR)
            usleep(1000);
    }
}

static void prefork(int s, int count) {
    for (;;) {
        for (; count > 0; count--) {
            if (cc_fork() == 0) {
                signal(SIGTERM, SIG_DFL);
                if (getppid() != parent)
                    _exit(0);
                thread(&s);
            }
        }
        int status;
        if (wait(&status) > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
            count++;
        else
            exit(0);
    }
}

static void on_term(int number) {
    (void)number;
    kill(0, SIGKILL);
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 100;
    setpgid(0, 0);
    signal(SIGTERM, on_term);
    log_fd = open(argv[3], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    parent = getpid();
    struct sockaddr_in6 six = {.sin6_family = AF_INET6,
                               .sin6_port = htons((in_port_t)atoi(argv[2]))};
    const char *colon = strchr(argv[1], ':');
    int s = colon != NULL && strcmp(colon, ":6") == 0
                ? cc_createlsock_at((struct sockaddr *)&six, sizeof six, 512, argv + 4)
                : cc_createlsock((struct in_addr){.s_addr = htonl(INADDR_ANY)},
                                 htons((in_port_t)atoi(argv[2])), 512, argv + 4);
    if (s == -1) {
        perror("cc_createlsock");
        return 111;
    }
    pthread_t threads[4];
    switch (argv[1][0]) {
    case 'p':
        if (argv[1][1] == 'r')
            prefork(s, 4);
        /* fall through */
    case 's':
    case 'e':
        events(s, argv[1][0]);
        break;
    case 't':
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, thread, &s);
        /* fall through */
    default:
        thread(&s);
    }
}
