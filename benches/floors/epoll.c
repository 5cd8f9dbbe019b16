/* epoll.c: the floor of the event model: one loop, edge-triggered, that tries before it waits. */
#include "floor.h"

#include <sys/epoll.h>
#include <sys/resource.h>

enum { EVENTS = 512 };

static struct floor_client *clients; /* by descriptor */
static int poll_fd;

static void watch(int fd, int how, uint32_t more) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET | more, .data.fd = fd};
    epoll_ctl(poll_fd, how, fd, &event);
}

static void drop(int fd) {
    if (clients[fd].file != -1) {
        close(clients[fd].file);
    }
    close(fd);
}

/* What an attempt to answer came to; true: all is sent and the client is still there. */
static bool answered(int fd, int done) {
    if (done == -1 || (done == 1 && floor_.closing)) {
        drop(fd);
        return false;
    }
    return done != 0;
}

/* Receives and answers what is there. */
static void visit(int fd, bool ended, bool fresh) {
    static char input[FLOOR_INPUT];
    ssize_t n;
    do {
        n = recv(fd, input, sizeof input, 0);
        if (n == -1 && errno == EAGAIN) {
            break;
        }
        int done = n <= 0 ? -1 : floor_serve(fd, &clients[fd], input, (size_t)n);
        if (!answered(fd, done)) {
            if (done == 0) {
                watch(fd, fresh ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, EPOLLOUT);
            }
            return;
        }
    } while (n == (ssize_t)sizeof input || ended);
    if (fresh) {
        watch(fd, EPOLL_CTL_ADD, 0);
    }
}

static void welcome(void) {
    int fd;
    while ((fd = accept4(floor_.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) != -1) {
        clients[fd] = (struct floor_client){.file = -1};
        visit(fd, false, true);
    }
}

/* Goes on with an answer that was begun. */
static void go_on(int fd) {
    struct floor_client *c = &clients[fd];
    if (answered(fd, c->file != -1 ? floor_rest(fd, c) : floor_constant(fd, c))) {
        watch(fd, EPOLL_CTL_MOD, 0); /* tells of what has come meanwhile, too */
    }
}

int main(int argc, char **argv) {
    struct epoll_event events[EVENTS];
    struct rlimit files;
    floor_start(argc, argv, false);
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    clients = calloc(files.rlim_cur, sizeof *clients);
    poll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = floor_.listener};
    if (clients == NULL || epoll_ctl(poll_fd, EPOLL_CTL_ADD, floor_.listener, &event) == -1) {
        floor_fail("epoll");
    }
    for (;;) {
        int n = epoll_wait(poll_fd, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            if (fd == floor_.listener) {
                welcome();
            } else if (clients[fd].owed > 0) {
                go_on(fd);
            } else {
                visit(fd, (events[i].events & ~(uint32_t)EPOLLIN) != 0, false);
            }
        }
    }
}
