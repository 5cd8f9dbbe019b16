/* take.c: connections are taken from listeners, and taking ends.
 *
 * Called by worker models and epoll. State: whether a stop has begun, of the process; the
 * descriptor that wakes who waits on given listeners. Workers may be threads, or processes that
 * inherited the listeners: what they must know of a stop is on the sockets themselves. Must not
 * know sessions or models. */
#include "../platform/platform.h"
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

static _Atomic bool take_stopped;
static _Atomic uint32_t take_over; /* a bit per listener: nobody waits there any more */
static bool take_polled;           /* listeners are nonblocking since before the stop */
static int take_wake = -1;         /* an eventfd: readable from the stop on */

_Static_assert(NEST__LISTEN_MAX <= 32, "take_over has a bit for each");

static bool take_polls(void) {
    return nest__listener_count > 1 || take_wake != -1;
}

int nest__take_prepare(bool given) {
    if (given && (take_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) == -1) {
        return -errno;
    }
    return take_polls() ? nest__listen_nonblocking() : 0;
}

void nest__take_close(void) {
    if (take_wake != -1) {
        close(take_wake);
        take_wake = -1;
    }
}

static int take_unblock(const struct nest__listener *l) {
    int flags = fcntl(l->fd, F_GETFL);
    return flags == -1 || fcntl(l->fd, F_SETFL, flags | O_NONBLOCK) == -1 ? -errno : 0;
}

int nest__listen_nonblocking(void) {
    for (unsigned i = 0; i < nest__listener_count; i++) {
        int error = take_unblock(&nest__listeners[i]);
        if (error != 0) {
            return error;
        }
    }
    take_polled = true;
    return 0;
}

/* Somebody is in the queue. One that was shut down already has none that poll could tell. */
static bool take_waits(const struct nest__listener *l) {
    struct pollfd queue = {.fd = l->fd, .events = POLLIN | POLLRDHUP};
    return poll(&queue, 1, 0) == 1 && (queue.revents & (POLLIN | POLLRDHUP)) == POLLIN;
}

/* Nobody waits in the queue, so that this resets nobody; who is in accept wakes with EINVAL. */
static void take_finish(const struct nest__listener *l) {
    if (!l->given) {
        shutdown(l->fd, SHUT_RD);
    }
    atomic_fetch_or(&take_over, 1u << (l - nest__listeners));
}

static bool take_done(const struct nest__listener *l) {
    return (atomic_load(&take_over) >> (l - nest__listeners) & 1) != 0;
}

/* No client can get into a queue of ours any more, and workers no longer block: only then can a
 * queue that is found empty be closed. What is here is on the sockets: other processes see it. */
static void take_refuse(unsigned index) {
    const struct nest__listener *l = &nest__listeners[index];
    if (l->kind == NEST__UNIX) {
        nest__listener_unlink(index);
    } else {
        nest__connections_refuse(l->fd);
    }
    take_unblock(l);
}

bool nest__listen_stop(void) {
    uint64_t one = 1;
    bool first = !atomic_exchange(&take_stopped, true), all = true;
    for (unsigned i = 0; i < nest__listener_count; i++) {
        const struct nest__listener *l = &nest__listeners[i];
        if (first && !l->given) {
            take_refuse(i);
        }
        if (!take_done(l) && (l->given || !take_waits(l))) {
            take_finish(l);
        }
        all = all && take_done(l);
    }
    if (first && take_wake != -1) {
        nest__write(take_wake, &one, sizeof one);
    }
    if (first) {
        nest__notify("STOPPING=1");
    }
    return all;
}

int nest__take(struct nest__listener *l, struct nest__arrival *arrival, bool nonblocking) {
    int flags = SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0);
    for (;;) {
        if (l->given && atomic_load(&take_stopped)) {
            return -EINVAL;
        }
        int fd = accept4(l->fd, NULL, NULL, flags);
        if (fd != -1) {
            *arrival = (struct nest__arrival){
                .fd = fd, .kind = l->kind, .listener = (uint8_t)(l - nest__listeners)};
            return 0;
        }
        switch (errno) { /* an error of the connection that was waiting, not of the listener */
        case ECONNABORTED:
        case ENETDOWN:
        case EPROTO:
        case ENOPROTOOPT:
        case EHOSTDOWN:
        case ENONET:
        case EHOSTUNREACH:
        case EOPNOTSUPP:
        case ENETUNREACH:
        case EPERM: /* a packet filter */
            continue;
        case EAGAIN: /* a worker that never polls meets it only once a stop has unblocked */
            if (take_polled && !atomic_load(&take_stopped)) {
                return -EAGAIN;
            }
            if (take_done(l)) {
                return -EINVAL;
            }
            take_finish(l);
            continue; /* once more: a Unix socket keeps who has come since */
        case EINVAL:  /* shut down: a process that was not told learns it here */
            atomic_store(&take_stopped, true);
            take_finish(l);
            return -EINVAL;
        default:
            return -errno;
        }
    }
}

/* After a stop: what waits in queues of ours, without waiting. */
static int take_rest(struct nest__arrival *arrival) {
    for (unsigned i = 0; i < nest__listener_count; i++) {
        if (!take_done(&nest__listeners[i])) {
            int error = nest__take(&nest__listeners[i], arrival, false);
            if (error != -EINVAL) {
                return error;
            }
        }
    }
    return -EINVAL;
}

int nest__take_any(struct nest__arrival *arrival) {
    struct pollfd ready[NEST__LISTEN_MAX + 1];
    unsigned n = nest__listener_count;
    if (atomic_load(&take_stopped)) {
        return take_rest(arrival);
    }
    if (!take_polls()) {
        return nest__take(&nest__listeners[0], arrival, false);
    }
    for (unsigned i = 0; i < n; i++) {
        ready[i] = (struct pollfd){.fd = nest__listeners[i].fd, .events = POLLIN | POLLRDHUP};
    }
    ready[n] = (struct pollfd){.fd = take_wake, .events = POLLIN}; /* -1: not looked at */
    if (poll(ready, n + 1, -1) == -1) {
        return -errno;
    }
    bool over = ready[n].revents != 0;
    for (unsigned i = 0; i < n; i++) {
        over = over || (ready[i].revents & (POLLRDHUP | POLLHUP)) != 0;
    }
    if (over) { /* somebody has shut one down: a stop, of which this process was not told */
        atomic_store(&take_stopped, true);
        return take_rest(arrival);
    }
    int error = -EAGAIN;
    for (unsigned i = 0; i < n && error == -EAGAIN; i++) {
        if (ready[i].revents != 0) {
            error = nest__take(&nest__listeners[i], arrival, false);
        }
    }
    return error == -EINVAL ? take_rest(arrival) : error;
}
