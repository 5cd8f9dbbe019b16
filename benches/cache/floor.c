/* floor.c: the least that a loop can do for the clients of gets.c: it looks at the first byte of
 * each command and sends an answer of the right length, from nothing that was stored. One thread,
 * one epoll loop, two system calls for what a client has sent: a cache cannot be cheaper.
 *
 * usage: floor PORT */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { VALUE = 100, KEY = 7, MOST = 64 * 1024, EVENTS = 256 };

static char stored[] = "STORED\r\n", value[64 + VALUE];
static int value_n;

static _Noreturn void fail(const char *what) {
    perror(what);
    exit(1);
}

/* The answers to n bytes, which end with a command. */
static size_t answer(const char *p, size_t n, char *to) {
    const char *end = p + n;
    char *out = to;
    while (p < end) {
        const char *line = memchr(p, '\n', (size_t)(end - p));
        if (line == NULL) {
            break;
        }
        if (*p == 's') {
            memcpy(out, stored, sizeof stored - 1);
            out += sizeof stored - 1;
            p = line + 1 + VALUE + 2;
        } else {
            memcpy(out, value, (size_t)value_n);
            memcpy(out + 6, p + 4, KEY);
            out += value_n;
            p = line + 1;
        }
    }
    return (size_t)(out - to);
}

static void serve(int fd) {
    static char in[MOST], out[MOST];
    ssize_t n = recv(fd, in, sizeof in, MSG_DONTWAIT);
    if (n <= 0) {
        close(fd);
        return;
    }
    size_t size = answer(in, (size_t)n, out);
    if (send(fd, out, size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)size) {
        close(fd);
    }
}

int main(int argc, char **argv) {
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)(argc == 2 ? atoi(argv[1]) : 0))};
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0), poll = epoll_create1(0);
    char constant[VALUE + 1];
    memset(constant, 'v', VALUE);
    constant[VALUE] = '\0';
    value_n = snprintf(value, sizeof value, "VALUE k000000 0 %d\r\n%s\r\nEND\r\n", VALUE, constant);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) == -1 || listen(listener, 1024) == -1) {
        fail("floor: cannot listen");
    }
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        struct epoll_event events[EVENTS];
        int n = epoll_wait(poll, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd != listener) {
                serve(events[i].data.fd);
                continue;
            }
            event.data.fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
            if (event.data.fd != -1) {
                setsockopt(event.data.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                epoll_ctl(poll, EPOLL_CTL_ADD, event.data.fd, &event);
            }
        }
    }
}
