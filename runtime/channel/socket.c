/* socket.c: channels that are sockets.
 *
 * Called by channel.c. No state. The text of the peer's address is determined async-signal-safely,
 * because crash reports contain it. */
#include "socket.h"
#include "../platform/platform.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

static int64_t socket_receive(const struct nest__chan *chan, void *to, size_t n, int flags) {
    ssize_t got = recv(chan->fd, to, n, flags);
    if (got >= 0) {
        return got;
    }
    return errno == EAGAIN || errno == EWOULDBLOCK ? -EAGAIN
           : errno == EINTR                        ? -EINTR
                                                   : -ECONNRESET;
}

int64_t nest__socket_receive(const struct nest__chan *chan, void *to, size_t n,
                             enum nest__chan_how how) {
    return socket_receive(chan, to, n, how == NEST__CHAN_NOW ? MSG_DONTWAIT : 0);
}

int64_t nest__socket_peek(const struct nest__chan *chan, void *to, size_t n) {
    return socket_receive(chan, to, n, MSG_DONTWAIT | MSG_PEEK);
}

static ssize_t socket_send(const struct nest__chan *chan, const struct nest__out out[], int n,
                           int flags) {
    if (n == 1) {
        return send(chan->fd, out[0].p, (size_t)out[0].n, flags);
    }
    struct iovec vectors[NEST__CHAN_VECTORS];
    for (int i = 0; i < n; i++) {
        vectors[i] = (struct iovec){(void *)(uintptr_t)out[i].p, (size_t)out[i].n};
    }
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = (size_t)n};
    return sendmsg(chan->fd, &message, flags);
}

int64_t nest__socket_send(const struct nest__chan *chan, const struct nest__out out[], int n,
                          enum nest__chan_how how) {
    int flags = MSG_NOSIGNAL | (how == NEST__CHAN_NOW ? MSG_DONTWAIT : 0) |
                ((chan->state & NEST__CHAN_AHEAD) != 0 ? MSG_MORE : 0);
    ssize_t sent;
    do {
        sent = socket_send(chan, out, n, flags);
    } while (sent == -1 && errno == EINTR);
    if (sent >= 0) {
        return sent;
    }
    return errno == EAGAIN || errno == EWOULDBLOCK ? -EAGAIN : -ECONNRESET;
}

int64_t nest__socket_send_file(const struct nest__chan *chan, int fd, uint64_t at, uint64_t n) {
    return nest__sendfile(chan->fd, fd, at, n);
}

int nest__socket_half_close(const struct nest__chan *chan) {
    return shutdown(chan->fd, SHUT_WR);
}

void nest__socket_reset(const struct nest__chan *chan) {
    nest__reset_at_close(chan->fd);
}

void nest__socket_peer(const struct nest__chan *chan, char *to, size_t size) {
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    if (getpeername(chan->fd, (struct sockaddr *)(void *)&address, &length) == -1) {
        nest_strlcpy(to, "gone", size); /* after a reset the address is not known */
    } else {
        nest__address_text((const struct sockaddr *)(const void *)&address, to, size);
    }
}

bool nest__socket_peer_bytes(const struct nest__chan *chan, uint8_t to[16]) {
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    if (getpeername(chan->fd, (struct sockaddr *)(void *)&address, &length) == -1) {
        return false;
    }
    if (address.ss_family == AF_INET) {
        memcpy(to, mapped, sizeof mapped);
        memcpy(to + sizeof mapped, &((struct sockaddr_in *)(void *)&address)->sin_addr, 4);
    } else if (address.ss_family == AF_INET6) {
        memcpy(to, &((struct sockaddr_in6 *)(void *)&address)->sin6_addr, 16);
    }
    return address.ss_family == AF_INET || address.ss_family == AF_INET6;
}
