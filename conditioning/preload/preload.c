/* The library that cc-condition --by preload loads into a server. Where the server listens, the
 * launcher gets the socket and a gate takes its place, at the same descriptor; connections that
 * have passed the filters are messages in the gate. So poll and the like need no change, and the
 * calls here are few. All other descriptors go to the system's calls. Must not know: filters. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "wire.h"

enum { MOST = 64, HIGH = 100 }; /* gates with known sockets; descriptors of ours are above */

/* The C library declares these calls with types that no definition can have. */
int on_listen(int fd, int backlog) __asm__("listen");
int on_accept(int fd, struct sockaddr *address, socklen_t *length) __asm__("accept");
int on_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) __asm__("accept4");
int on_getsockname(int fd, struct sockaddr *address, socklen_t *length) __asm__("getsockname");
int on_getsockopt(int fd, int level, int name, void *value,
                  socklen_t *length) __asm__("getsockopt");
int on_setsockopt(int fd, int level, int name, const void *value,
                  socklen_t length) __asm__("setsockopt");

static int launcher = -1;
static bool options;

/* With --options: listening sockets, by the inode of their gate. A place is written once. */
static struct {
    ino_t gate;
    int real;
} known[MOST];

__attribute__((constructor)) static void start(void) {
    const char *text = getenv("CC_CONDITION");
    launcher = text != NULL ? atoi(text) : -1;
    options = getenv("CC_CONDITION_OPTIONS") != NULL;
}

static int option(int fd, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    int error = errno;
    if (syscall(SYS_getsockopt, fd, SOL_SOCKET, name, &value, &size) == -1)
        value = -1;
    errno = error;
    return value;
}

static bool is_gate(int fd) {
    return option(fd, SO_DOMAIN) == AF_UNIX && option(fd, SO_TYPE) == SOCK_SEQPACKET;
}

static void remember(int gate, int real) {
    struct stat status;
    if (fstat(gate, &status) == -1)
        return;
    for (int i = 0; i < MOST; i++) {
        ino_t none = 0;
        if (!__atomic_compare_exchange_n(&known[i].gate, &none, status.st_ino, false,
                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&known[i].real, fcntl(real, F_DUPFD_CLOEXEC, HIGH), __ATOMIC_RELEASE);
        return;
    }
}

/* The listening socket for which a gate stands; or the descriptor itself. */
static int real_of(int fd) {
    struct stat status;
    if (!options || known[0].gate == 0 || fstat(fd, &status) == -1 || !S_ISSOCK(status.st_mode))
        return fd;
    for (int i = 0; i < MOST && known[i].gate != 0; i++) {
        int real = __atomic_load_n(&known[i].real, __ATOMIC_ACQUIRE);
        if (known[i].gate == status.st_ino && real > 0)
            return real;
    }
    return fd;
}

/* Asks the launcher for a gate. Returns it, or -errno. */
static int ask(int fd, int backlog) {
    struct cc__message reply = {.bytes = NULL};
    struct cc__head head = cc__head_of(CC__GATE);
    int pair[2];
    int got = cc__pair(pair);
    if (got != 0)
        return got;
    int fds[2] = {fd, pair[1]};
    head.demand = (uint32_t)backlog;
    got = cc__send(launcher, &head, NULL, 0, fds, 2, 0);
    close(pair[1]);
    if (got == 0) {
        do {
            got = cc__receive(pair[0], &reply, 0);
        } while (got == -EINTR);
        got = got == 0 ? -EPIPE : got;
    }
    close(pair[0]);
    if (got < 0) {
        fprintf(stderr,
                "cc-condition: its socket is closed, so process %d cannot listen: the "
                "server must keep descriptor %d\n",
                (int)getpid(), launcher);
        return -EPERM;
    }
    return reply.head.type == CC__ATTACH ? reply.fds[0] : -(int)reply.head.demand;
}

int on_listen(int fd, int backlog) {
    int domain = option(fd, SO_DOMAIN);
    if (is_gate(fd))
        return 0;
    if ((domain != AF_INET && domain != AF_INET6) || option(fd, SO_TYPE) != SOCK_STREAM)
        return (int)syscall(SYS_listen, fd, backlog);
    int flags = fcntl(fd, F_GETFD), gate = ask(fd, backlog);
    if (gate < 0) {
        errno = -gate;
        return -1;
    }
    if (options)
        remember(gate, fd);
    int result = dup3(gate, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
    close(gate);
    return result == -1 ? -1 : 0;
}

static int take(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    struct cc__message message = {.bytes = NULL};
    struct sockaddr_storage storage;
    /* A message whose descriptor finds no place would be lost: better to leave it in the gate. */
    int spare = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (spare == -1)
        return -1;
    close(spare);
    int got = cc__receive(fd, &message, 0);
    if (got != 1 || message.head.type != CC__BUNDLE) {
        errno = got < 0 ? -got : ESHUTDOWN;
        return -1;
    }
    struct cc__head answer = cc__head_of(CC__TAKE);
    answer.taken = 1;
    cc__send(fd, &answer, NULL, 0, NULL, 0, MSG_DONTWAIT); /* else the launcher notices later */
    int client = message.fds[0], have = fcntl(client, F_GETFL);
    int want = flags & SOCK_NONBLOCK ? have | O_NONBLOCK : have & ~O_NONBLOCK;
    if (want != have)
        fcntl(client, F_SETFL, want);
    if (!(flags & SOCK_CLOEXEC))
        fcntl(client, F_SETFD, 0);
    if (address != NULL && length != NULL) {
        struct cc__address from = {.family = message.head.family, .port = message.head.port};
        memcpy(from.bytes, message.head.address, sizeof from.bytes);
        socklen_t size = cc__sockaddr_of(&from, &storage, (int)message.head.demand);
        memcpy(address, &storage, *length < size ? *length : size);
        *length = size;
    }
    return client;
}

int on_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    int got = (int)syscall(SYS_accept4, fd, address, length, flags);
    /* A gate does not listen. */
    if (got != -1 || errno != EINVAL || !is_gate(fd))
        return got;
    return take(fd, address, length, flags);
}

int on_accept(int fd, struct sockaddr *address, socklen_t *length) {
    return on_accept4(fd, address, length, 0);
}

int on_getsockname(int fd, struct sockaddr *address, socklen_t *length) {
    return (int)syscall(SYS_getsockname, real_of(fd), address, length);
}

int on_getsockopt(int fd, int level, int name, void *value, socklen_t *length) {
    return (int)syscall(SYS_getsockopt, real_of(fd), level, name, value, length);
}

int on_setsockopt(int fd, int level, int name, const void *value, socklen_t length) {
    return (int)syscall(SYS_setsockopt, real_of(fd), level, name, value, length);
}
