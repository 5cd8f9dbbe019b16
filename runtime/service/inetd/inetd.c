/* inetd.c: option inetd: another program listens, and starts this server with a connection, or with
 * the listening socket, on its descriptors 0, 1 and 2.
 *
 * Called at join points, by listener.c and by worker models. State: what was passed on. With a
 * listening socket (inetd's "wait") the server serves all clients, and ends when there was none for
 * idleTimeout; then inetd listens again. Anything else ("nowait") is one conversation, and start-up
 * code and actions must not reach its descriptors. Must not know who serves it. */
#include "inetd.h"
#include "../../listener/listener.h"
#include "../../platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INETD_NOTHING, INETD_LISTENER, INETD_CONVERSATION };

/* scope: process, set before workers are made */
static struct {
    int what, fd;
    uint8_t kind;
    struct {
        int fd, flags;
    } before[2]; /* flags to restore, because a terminal or pipe is shared with others */
} inetd = {.fd = -1, .before = {{-1, -1}, {-1, -1}}};

static bool inetd_same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether two of the descriptors 0, 1, 2 refer to the same file of this type. */
static bool inetd_share(int a, int b, mode_t kind) {
    struct stat one, other;
    return fstat(a, &one) != -1 && fstat(b, &other) != -1 && inetd_same(&one, &other) &&
           (one.st_mode & S_IFMT) == kind;
}

void nest__inetd_begin(void) {
    if (inetd_share(0, 2, S_IFSOCK) || inetd_share(1, 2, S_IFSOCK)) {
        nest__syslog();
    }
}

/* Discards what start-up code and actions print to the connection. */
static int inetd_cover(bool errors) {
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing == -1 || dup2(nothing, 0) == -1 || dup2(nothing, 1) == -1 ||
        (errors && dup2(nothing, 2) == -1)) {
        return -errno;
    }
    close(nothing);
    return 0;
}

static int inetd_refuse(const char *why) {
    nest__say("cannot serve: %s", why);
    return -EINVAL;
}

static int inetd_socket(void) {
    char name[NEST__ADDRESS_TEXT];
    int type = 0, listening = 0, on = 1;
    socklen_t length = sizeof type;
    if (getsockopt(0, SOL_SOCKET, SO_TYPE, &type, &length) == -1 || type != SOCK_STREAM) {
        return inetd_refuse("descriptor 0 is not a stream socket; write 'stream' and 'tcp' in "
                            "inetd's configuration");
    }
    length = sizeof listening;
    if (getsockopt(0, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) == -1) {
        listening = 0;
    }
    inetd.kind = nest__socket_kind(0, name, sizeof name);
    inetd.what = listening != 0 ? INETD_LISTENER : INETD_CONVERSATION;
    if (inetd.kind == NEST__TCP4 || inetd.kind == NEST__TCP6) {
        (void)setsockopt(0, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    if (listening != 0 && inetd.kind == NEST__PIPE) {
        return inetd_refuse("descriptor 0 listens, but is neither a TCP nor a Unix socket");
    }
    return 0;
}

int nest__inetd_prepare(void) {
    int error = 0;
    bool socket = inetd_share(0, 1, S_IFSOCK), listener = false;
    bool errors =
        inetd_share(0, 2, S_IFSOCK) || inetd_share(1, 2, S_IFSOCK) || inetd_share(1, 2, S_IFIFO);
    if (inetd_share(0, 0, S_IFSOCK)) {
        error = inetd_socket();
        listener = inetd.what == INETD_LISTENER;
    }
    if (error != 0) {
        return error;
    }
    if (!listener && !socket) { /* pipes, files, a terminal, or two sockets */
        inetd.what = INETD_CONVERSATION;
        inetd.kind = NEST__PIPE;
    }
    inetd.fd = fcntl(0, F_DUPFD_CLOEXEC, 3);
    if (inetd.kind == NEST__PIPE) {
        nest__pipe_out = fcntl(1, F_DUPFD_CLOEXEC, 3);
    }
    if (inetd.fd == -1 || (inetd.kind == NEST__PIPE && nest__pipe_out == -1)) {
        error = -errno;
    } else {
        if (errors) {
            nest__syslog();
        }
        error = inetd_cover(errors);
    }
    if (error != 0) {
        nest__say("cannot serve: %s", strerror(-error));
        return error;
    }
    if (inetd.what == INETD_CONVERSATION) {
        nest__config.max_clients = 1;
    }
    return 0;
}

int nest__inetd_listen(void) {
    if (inetd.what == INETD_LISTENER) {
        struct nest__listener *l = &nest__listeners[0];
        l->fd = inetd.fd;
        l->given = true;
        l->kind = nest__socket_kind(l->fd, l->name, sizeof l->name);
        nest__listener_count = 1;
        inetd.fd = -1; /* now owned by the listener */
    }
    return 0;
}

static void inetd_unblock(int index, int fd) {
    int flags = fcntl(fd, F_GETFL);
    if (flags != -1 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) != -1 && inetd.kind == NEST__PIPE) {
        inetd.before[index].flags = flags;
        inetd.before[index].fd =
            fcntl(fd, F_DUPFD_CLOEXEC, 3); /* the worker closes the other descriptor */
    }
}

bool nest__take_only(struct nest__arrival *arrival, bool nonblocking) {
    if (inetd.what != INETD_CONVERSATION) {
        return false;
    }
    inetd.what = INETD_NOTHING;
    if (nonblocking) {
        inetd_unblock(0, inetd.fd);
        if (inetd.kind == NEST__PIPE) {
            inetd_unblock(1, nest__pipe_out);
        }
    }
    *arrival = (struct nest__arrival){.fd = inetd.fd, .kind = inetd.kind};
    return true;
}

void nest__inetd_close(void) {
    for (int i = 1; i >= 0;
         i--) { /* in reverse order: if both are one terminal, index 0 has its original flags */
        if (inetd.before[i].fd != -1) {
            (void)fcntl(inetd.before[i].fd, F_SETFL, inetd.before[i].flags);
            close(inetd.before[i].fd);
            inetd.before[i].fd = -1;
        }
    }
}

uint32_t nest__listen_idle_exit(void) {
    return nest__listener_count > 0 ? nest__config.idle_timeout : 0;
}
