/* open.c: opens a listening socket, TCP or Unix, and removes the file of a Unix socket.
 *
 * Called by listener.c, and by services that listen for themselves. No state. Must not know which
 * sockets the server has. */
#include "../platform/platform.h"
#include "../service/user/user.h"
#include "endpoint.h"
#include "listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_TRIES = 5, OPEN_TRY_MS = 100 };

/* Reports a failure with advice for this error. */
static int open_complain(const char *name, int error) {
    const char *advice = strerror(error);
    switch (error) {
    case EADDRINUSE:
        advice =
            "another program already listens there; stop it, or choose another address with --port "
            "or --set listen=...";
        break;
    case EACCES:
    case EPERM:
        advice =
            "not permitted; ports below 1024 need privileges, and a Unix socket needs a writable "
            "directory";
        break;
    case EADDRNOTAVAIL:
        advice = "this machine has no such address";
        break;
    case ENOTSOCK:
        advice = "the path is a file, not a socket; remove it, or choose another path";
        break;
    default:
        break;
    }
    nest__say("cannot listen on %s: %s", name, advice);
    return -error;
}

static int open_switch(int fd, int level, int option, int value) {
    return setsockopt(fd, level, option, &value, sizeof value) == -1 ? -errno : 0;
}

/* Returns a listening socket, or -errno. Accepted sockets inherit its switches, which saves system
 * calls per connection. Urgent data, as Telnet and FTP have it, stays among the other bytes. */
static int open_tcp(const struct sockaddr *address, socklen_t length, bool only_six) {
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), error = 0;
    if (fd == -1) {
        return -errno;
    }
    error = open_switch(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (error == 0) {
        error = open_switch(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    }
    if (error == 0) {
        error = open_switch(fd, SOL_SOCKET, SO_OOBINLINE, 1);
    }
    if (error == 0 && address->sa_family == AF_INET6) {
        error = open_switch(fd, IPPROTO_IPV6, IPV6_V6ONLY, only_six);
    }
    if (error == 0 && (bind(fd, address, length) == -1 || listen(fd, SOMAXCONN) == -1)) {
        error = -errno;
    }
    if (error != 0) {
        close(fd);
        return error;
    }
    return fd;
}

/* Removes the socket file of a server that no longer runs. Returns 0 if there is no file any more.
 */
static int open_unstale(const struct sockaddr_un *address) {
    struct stat file;
    if (lstat(address->sun_path, &file) == -1) {
        return errno == ENOENT ? 0 : -errno;
    }
    if (!S_ISSOCK(file.st_mode)) {
        return -ENOTSOCK;
    }
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe == -1) {
        return -errno;
    }
    int refused = connect(probe, (const struct sockaddr *)(const void *)address, sizeof *address);
    int error = errno;
    close(probe);
    if (refused != -1 || error != ECONNREFUSED) {
        return refused == -1 && error == EACCES ? -EACCES : -EADDRINUSE;
    }
    return unlink(address->sun_path) == -1 ? -errno : 0;
}

static int open_unix(const struct sockaddr_un *address, struct nest__socket_file *made) {
    const struct sockaddr *any = (const struct sockaddr *)(const void *)address;
    struct stat file;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), error = 0;
    if (fd == -1) {
        return -errno;
    }
    if (bind(fd, any, sizeof *address) == -1) {
        error = -errno;
        if (error == -EADDRINUSE) {
            error = open_unstale(address);
            if (error == 0 && bind(fd, any, sizeof *address) == -1) {
                error = -errno;
            }
        }
    }
    if (error == 0 && (listen(fd, SOMAXCONN) == -1 || lstat(address->sun_path, &file) == -1)) {
        error = -errno;
    }
    if (error == 0) {
        error = nest__user_own(address->sun_path);
    }
    if (error != 0) {
        close(fd);
        return error;
    }
    *made = (struct nest__socket_file){*address, file.st_dev, file.st_ino, getpid()};
    return fd;
}

uint8_t nest__socket_kind(int fd, char *name, size_t size) {
    struct sockaddr_storage bound = {0};
    socklen_t length = sizeof bound, one = sizeof(int);
    struct sockaddr *any = (struct sockaddr *)(void *)&bound;
    const struct sockaddr_un *local = (const struct sockaddr_un *)(const void *)&bound;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)&bound;
    int only_six = 1;
    if (getsockname(fd, any, &length) == -1) {
        return NEST__PIPE;
    }
    if (any->sa_family == AF_UNIX) {
        size_t path = length > offsetof(struct sockaddr_un, sun_path)
                          ? length - offsetof(struct sockaddr_un, sun_path)
                          : 0;
        struct nest__line line = {name, 0, size - 1};
        nest__line_add(&line, path == 0 ? "unix" : "unix:");
        for (size_t i = 0; i < path && (i == 0 || local->sun_path[i] != '\0'); i++) {
            nest__line_char(&line, local->sun_path[i] < ' ' ? '@' : local->sun_path[i]);
        }
        name[line.n] = '\0';
        return NEST__UNIX;
    }
    if (any->sa_family != AF_INET && any->sa_family != AF_INET6) {
        return NEST__PIPE;
    }
    nest__address_text(any, name, size);
    if (any->sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr) &&
        getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_six, &one) != -1 && only_six == 0) {
        char *port = strrchr(name, ':'); /* "[::]:8080" would look like IPv6 only */
        name[0] = '*';
        memmove(name + 1, port, strlen(port) + 1);
    }
    return any->sa_family == AF_INET ? NEST__TCP4 : NEST__TCP6;
}

/* A descriptor that listens, or -errno. */
static int open_at(const struct nest__endpoint *address, uint8_t *kind,
                   struct nest__socket_file *file) {
    const struct sockaddr *any = (const struct sockaddr *)(const void *)&address->socket;
    *kind = address->kind;
    if (address->kind == NEST__UNIX) {
        return open_unix(&address->socket.local, file);
    }
    int fd = open_tcp(any, address->length, !address->everywhere);
    if (address->everywhere &&
        (fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL || fd == -EPROTONOSUPPORT)) {
        struct sockaddr_in four = {.sin_family = AF_INET,
                                   .sin_port = address->socket.six.sin6_port};
        *kind = NEST__TCP4; /* this system has no IPv6 */
        fd = open_tcp((const struct sockaddr *)(const void *)&four, sizeof four, false);
    }
    return fd;
}

int nest__socket_listen(const struct nest__endpoint *address, struct nest__listener *l,
                        struct nest__socket_file *file) {
    l->fd = open_at(address, &l->kind, file);
    /* The kernel frees the address of a server that was killed a moment after its end. */
    for (int tries = 0; l->fd == -EADDRINUSE && tries < OPEN_TRIES; tries++) {
        (void)poll(NULL, 0, OPEN_TRY_MS);
        l->fd = open_at(address, &l->kind, file);
    }
    if (l->fd < 0) {
        return open_complain(address->name, -l->fd);
    }
    if (l->kind == NEST__UNIX || nest__socket_kind(l->fd, l->name, sizeof l->name) == NEST__PIPE) {
        nest_strlcpy(l->name, address->name, sizeof l->name);
    }
    l->given = false;
    return 0;
}

void nest__socket_unlink(struct nest__socket_file *made) {
    struct stat file;
    const char *path = made->address.sun_path;
    if (made->maker == getpid() && lstat(path, &file) != -1 && file.st_dev == made->device &&
        file.st_ino == made->inode) {
        unlink(path); /* still our file: nobody has replaced it */
    }
    made->maker = 0;
}
