/* listen.c: $listen and $accept: an action takes one connection more from its client, as FTP's
 * passive mode does.
 *
 * Called by actions. State: the records of further channels. A listener ends with its connection.
 * Must not know how bytes move. */
#include "../../engine/second.h"
#include "../../platform/platform.h"
#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LISTEN_QUEUE = 4 };

static int listen_fail(int error) {
    errno = error;
    return -1;
}

/* "0", "PORT" or "LOW-HIGH". 0 or -EINVAL. */
static int listen_range(const char *text, unsigned *low, unsigned *high) {
    char *end;
    if (text == NULL || text[0] < '0' || text[0] > '9') {
        return -EINVAL;
    }
    *low = *high = (unsigned)strtoul(text, &end, 10);
    if (*end == '-' && end[1] >= '0' && end[1] <= '9') {
        *high = (unsigned)strtoul(end + 1, &end, 10);
    }
    return *end == '\0' && *low <= *high && *high <= 65535 && (*low > 0 || *high == 0) ? 0
                                                                                       : -EINVAL;
}

/* A socket that listens on this port. It; -errno. */
static int listen_socket(struct nest__dial_address *address, unsigned port) {
    int one = 1,
        fd = socket(address->socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd == -1) {
        return -errno;
    }
    nest__dial_port(address, (uint16_t)port);
    if (port != 0) { /* with it, the system looks for a free port in half of its range only */
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    }
    if (bind(fd, &address->socket.any, address->length) == -1 || listen(fd, LISTEN_QUEUE) == -1) {
        int error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

/* The port of the range after which the search begins differs from call to call, so that ports of
 * which connections may still be known are used last. */
static int listen_search(struct nest__dial_address *address, unsigned low, unsigned high) {
    unsigned count = high - low + 1, begin = (unsigned)nest__clock_us() % count;
    int fd = -EADDRINUSE;
    for (unsigned i = 0; i < count && fd == -EADDRINUSE; i++) {
        fd = listen_socket(address, low + (begin + i) % count);
    }
    return fd;
}

__attribute__((noinline)) static int listen_listen(nest_session *s, const char *range,
                                                   unsigned flags) {
    struct nest__dial_address address = {.length = sizeof address.socket};
    unsigned low, high;
    if (nest__fails(s, nest__acting(s))) {
        return nest__refuse(s);
    }
    if (listen_range(range, &low, &high) < 0) {
        return listen_fail(EINVAL);
    }
    if (getsockname(s->c0.fd, &address.socket.any, &address.length) == -1) {
        return -1;
    }
    sa_family_t family = address.socket.any.sa_family;
    if (family != AF_INET && family != AF_INET6) { /* a Unix socket: there is no address */
        return listen_fail(EAFNOSUPPORT);
    }
    address.kind = family == AF_INET ? NEST__TCP4 : NEST__TCP6;
    int fd = listen_search(&address, low, high);
    if (fd < 0) {
        return listen_fail(-fd);
    }
    int number = nest__channel_attach(s, fd, address.kind);
    if (number < 0) {
        int error = errno;
        close(fd);
        return listen_fail(error);
    }
    struct nest__further *further = nest__channel_use(s, (unsigned)number);
    further->listens = true;
    further->anyone = (flags & NEST_ANYONE) != 0;
    return nest__second_handle(further);
}

int nest_listen(nest_session *s, const char *range, unsigned flags) {
    struct nest__trip *trip = nest__at_home(s);
    int result = listen_listen(s, range, flags);
    nest__from_home(trip);
    return result;
}

/* Takes a connection of the client's. Its channel's number; -1: errno is EAGAIN if there is none.
 */
static int listen_take(nest_session *s, const struct nest__further *listener) {
    uint8_t client[16], other[16];
    int one = 1, fd = accept4(listener->chan.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd == -1) {
        return -1;
    }
    struct nest__chan chan = {.fd = fd, .kind = listener->chan.kind};
    if (!listener->anyone &&
        (!nest__peer_bytes(&s->c0, client) || !nest__peer_bytes(&chan, other) ||
         memcmp(client, other, sizeof client) != 0)) {
        nest__reset_at_close(fd);
        close(fd);
        return listen_fail(EAGAIN);
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    int number = nest__channel_attach(s, fd, chan.kind);
    if (number < 0) {
        int error = errno;
        close(fd);
        return listen_fail(error == EAGAIN ? EMFILE : error);
    }
    return number;
}

__attribute__((noinline)) static int listen_accept(nest_session *s, int handle, uint32_t ms) {
    struct nest__further *listener = nest__second_use(s, handle);
    if (listener == NULL) {
        return -1;
    }
    if (!listener->listens) {
        return listen_fail(EINVAL);
    }
    uint32_t deadline = nest__second_until(ms != 0 ? ms : nest__config.read_timeout);
    for (;;) {
        int number = listen_take(s, listener);
        if (number >= 0) {
            return nest__second_handle(nest__channel_use(s, (unsigned)number));
        }
        if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
            return -1;
        }
        struct nest__member member = {.chan = &listener->chan, .readable = true};
        if (nest__second_wait(s, &member, 1, deadline) < 0) {
            return -1;
        }
    }
}

int nest_accept(nest_session *s, int handle, uint32_t ms) {
    struct nest__trip *trip = nest__at_home(s);
    int result = listen_accept(s, handle, ms);
    nest__from_home(trip);
    return result;
}

__attribute__((noinline)) static int listen_port_of(nest_session *s, int handle) {
    struct nest__dial_address address = {.length = sizeof address.socket};
    const struct nest__further *further = nest__second_use(s, handle);
    if (further == NULL ||
        getsockname(further->chan.fd, &address.socket.any, &address.length) == -1) {
        return -1;
    }
    switch (address.socket.any.sa_family) {
    case AF_INET:
        return ntohs(address.socket.four.sin_port);
    case AF_INET6:
        return ntohs(address.socket.six.sin6_port);
    default:
        return listen_fail(EAFNOSUPPORT);
    }
}

int nest_port_of(nest_session *s, int handle) {
    struct nest__trip *trip = nest__at_home(s);
    int result = listen_port_of(s, handle);
    nest__from_home(trip);
    return result;
}

__attribute__((noinline)) static const char *listen_address_of(nest_session *s, int handle) {
    struct nest__dial_address address = {.length = sizeof address.socket};
    char text[NEST__ADDRESS_TEXT];
    const struct nest__further *further = nest__second_use(s, handle);
    if (further == NULL ||
        getsockname(further->chan.fd, &address.socket.any, &address.length) == -1) {
        return NULL;
    }
    nest__address_text(&address.socket.any, text, sizeof text);
    char *copy = nest__arena_take(s, strlen(text) + 1);
    if (copy != NULL) {
        nest_strlcpy(copy, text, strlen(text) + 1);
    }
    return copy;
}

const char *nest_address_of(nest_session *s, int handle) {
    struct nest__trip *trip = nest__at_home(s);
    const char *result = listen_address_of(s, handle);
    nest__from_home(trip);
    return result;
}
