/* listener.c: listening sockets, TCP and Unix, opened here or inherited.
 *
 * Opened and closed by main. State: the listeners of the process. A process that inherits them by
 * fork uses them, but only the process that created a Unix socket removes its file. Must not know
 * sessions or models. */
#include "../platform/platform.h"
#include "../service/inetd/inetd.h"
#include "../service/systemd/systemd.h"
#include "../service/user/user.h"
#include "endpoint.h"
#include "listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { LISTENER_TRIES = 5, LISTENER_TRY_MS = 100 };

struct nest__listener nest__listeners[NEST__LISTEN_MAX];
unsigned nest__listener_count;

static struct { /* parallel to nest__listeners: the file of a Unix socket, and the process that
                   created it */
    struct sockaddr_un address;
    dev_t device;
    ino_t inode;
    pid_t maker;
} listener_files[NEST__LISTEN_MAX];

/* Reports a failure with advice for this error. */
static int listener_complain(const char *name, int error) {
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

static int listener_switch(int fd, int level, int option, int value) {
    return setsockopt(fd, level, option, &value, sizeof value) == -1 ? -errno : 0;
}

/* Returns a listening socket, or -errno. Accepted sockets inherit TCP_NODELAY, which saves a system
 * call per connection. */
static int listener_tcp(const struct sockaddr *address, socklen_t length, bool only_six) {
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), error = 0;
    if (fd == -1) {
        return -errno;
    }
    error = listener_switch(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (error == 0) {
        error = listener_switch(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    }
    if (error == 0 && address->sa_family == AF_INET6) {
        error = listener_switch(fd, IPPROTO_IPV6, IPV6_V6ONLY, only_six);
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
static int listener_unstale(const struct sockaddr_un *address) {
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

static int listener_unix(const struct sockaddr_un *address, unsigned index) {
    const struct sockaddr *any = (const struct sockaddr *)(const void *)address;
    struct stat file;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), error = 0;
    if (fd == -1) {
        return -errno;
    }
    if (bind(fd, any, sizeof *address) == -1) {
        error = -errno;
        if (error == -EADDRINUSE) {
            error = listener_unstale(address);
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
    listener_files[index].address = *address;
    listener_files[index].device = file.st_dev;
    listener_files[index].inode = file.st_ino;
    listener_files[index].maker = getpid();
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
static int listener_at(const struct nest__endpoint *address, uint8_t *kind) {
    const struct sockaddr *any = (const struct sockaddr *)(const void *)&address->socket;
    *kind = address->kind;
    if (address->kind == NEST__UNIX) {
        return listener_unix(&address->socket.local, nest__listener_count);
    }
    int fd = listener_tcp(any, address->length, !address->everywhere);
    if (address->everywhere &&
        (fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL || fd == -EPROTONOSUPPORT)) {
        struct sockaddr_in four = {.sin_family = AF_INET,
                                   .sin_port = address->socket.six.sin6_port};
        *kind = NEST__TCP4; /* this system has no IPv6 */
        fd = listener_tcp((const struct sockaddr *)(const void *)&four, sizeof four, false);
    }
    return fd;
}

static int listener_open_one(const struct nest__endpoint *address) {
    struct nest__listener *l = &nest__listeners[nest__listener_count];
    l->fd = listener_at(address, &l->kind);
    /* The kernel frees the address of a server that was killed a moment after its end. */
    for (int tries = 0; l->fd == -EADDRINUSE && tries < LISTENER_TRIES; tries++) {
        (void)poll(NULL, 0, LISTENER_TRY_MS);
        l->fd = listener_at(address, &l->kind);
    }
    if (l->fd < 0) {
        return listener_complain(address->name, -l->fd);
    }
    if (l->kind == NEST__UNIX || nest__socket_kind(l->fd, l->name, sizeof l->name) == NEST__PIPE) {
        nest_strlcpy(l->name, address->name, sizeof l->name);
    }
    l->given = false;
    nest__listener_count++;
    return 0;
}

static int listener_open_all(void) {
    struct nest__endpoint addresses[NEST__LISTEN_MAX];
    char reason[NEST__ENDPOINT_REASON];
    int count = nest__endpoints(nest__config.listen, nest__config.server_port, addresses, reason);
    if (count < 0) {
        nest__say("cannot listen: %s", reason);
        return count;
    }
    for (int i = 0; i < count; i++) {
        int error =
            addresses[i].systemd ? nest__systemd_listen() : listener_open_one(&addresses[i]);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

int nest__listen_open(void) {
    bool given = false;
    int error = nest__inetd_listen();
    if (error == 1) {
        error = listener_open_all();
    }
    for (unsigned i = 0; i < nest__listener_count; i++) {
        given = given || nest__listeners[i].given;
    }
    if (error == 0 && (error = nest__take_prepare(given)) != 0) {
        nest__say("cannot listen: %s", strerror(-error));
    }
    if (error != 0) {
        nest__listen_close();
    }
    return error;
}

void nest__listener_unlink(unsigned index) {
    struct stat file;
    const char *path = listener_files[index].address.sun_path;
    if (listener_files[index].maker == getpid() && lstat(path, &file) != -1 &&
        file.st_dev == listener_files[index].device && file.st_ino == listener_files[index].inode) {
        unlink(path); /* still our file: nobody has replaced it */
    }
    listener_files[index].maker = 0;
}

void nest__listen_close(void) {
    for (unsigned i = 0; i < nest__listener_count; i++) {
        close(nest__listeners[i].fd);
        nest__listener_unlink(i);
    }
    nest__listener_count = 0;
    nest__take_close();
    nest__inetd_close();
}
