/* take.c: accepts connections from the listeners, and stops accepting.
 *
 * Called by the worker models and the loop. State, per process: whether a stop has begun, and the
 * descriptor that wakes workers waiting on inherited listeners. Workers may be threads, or
 * processes that inherited the listeners. All they must know about a stop is therefore stored in
 * the sockets themselves. Must not know sessions or models. */
#include "../platform/platform.h"
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static _Atomic bool take_stopped;
static _Atomic uint32_t take_over; /* one bit per listener: no client is waiting there any more */
static bool take_polled;           /* the listeners were nonblocking before the stop */
static int take_wake = -1;         /* an eventfd, readable after the stop */

_Static_assert(NEST__LISTEN_MAX <= 32, "take_over has a bit for each");

static bool take_polls(void) {
    return nest__listener_count > 1 || take_wake != -1;
}

int nest__take_prepare(bool given) {
    int error = 0;
    if (given && (take_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) == -1) {
        error = -errno;
    } else if (take_polls()) {
        error = nest__listen_nonblocking();
    }
    if (error != 0) {
        nest__say("cannot listen: %s", strerror(-error));
    }
    return error;
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

/* Whether a client is in the queue. A listener that was shut down has none that poll could report.
 */
static bool take_waits(const struct nest__listener *l) {
    short found = nest__poll_now(l->fd, POLLIN | POLLRDHUP);
    return (found & (POLLIN | POLLRDHUP)) == POLLIN;
}

/* The queue is empty, so this resets no client. A worker in accept returns with EINVAL. */
static void take_finish(const struct nest__listener *l) {
    if (!l->given) {
        shutdown(l->fd, SHUT_RD);
    }
    atomic_fetch_or(&take_over, 1u << (l - nest__listeners));
}

static bool take_done(const struct nest__listener *l) {
    return (atomic_load(&take_over) >> (l - nest__listeners) & 1) != 0;
}

/* From now on no client can enter a queue of ours, and workers no longer block in accept. Only then
 * may an empty queue be closed. This changes the sockets, so other processes see it too. */
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

/* A descriptor that clients are awaited with is closed. During a stop, that is as it should be. */
static void take_closed(void) {
    if (!atomic_load(&take_stopped)) {
        nest__closed_under();
    }
}

int nest__take(struct nest__listener *l, struct nest__arrival *arrival, bool nonblocking) {
    int flags = SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0);
    for (;;) {
        if (l->given && atomic_load(&take_stopped)) {
            return -EINVAL;
        }
        int fd = accept4(l->fd, NULL, NULL, flags);
        if (fd != -1) {
            *arrival = (struct nest__arrival){.fd = fd,
                                              .kind = l->kind,
                                              .listener = (uint8_t)(l - nest__listeners),
                                              .proxied = l->proxied};
            return 0;
        }
        switch (errno) { /* an error of the waiting connection, not of the listener */
        case ECONNABORTED:
        case ENETDOWN:
        case EPROTO:
        case ENOPROTOOPT:
        case EHOSTDOWN:
        case ENONET:
        case EHOSTUNREACH:
        case EOPNOTSUPP:
        case ENETUNREACH:
        case EPERM: /* a packet filter refused it */
            continue;
        case EAGAIN: /* workers that never poll see this only after a stop has made the sockets
                        nonblocking */
            if (take_polled && !atomic_load(&take_stopped)) {
                return -EAGAIN;
            }
            if (take_done(l)) {
                return -EINVAL;
            }
            take_finish(l);
            continue; /* try again: a client may have entered the queue of a Unix socket since */
        case EINVAL:  /* shut down: a process that was not told learns it here */
            atomic_store(&take_stopped, true);
            take_finish(l);
            return -EINVAL;
        case EBADF:
        case ENOTSOCK:
            take_closed();
            return -EINVAL;
        default:
            return -errno;
        }
    }
}

void nest__take_leave(void) {
}

/* After a stop: accepts the clients that wait in our queues, without blocking. */
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
    ready[n] = (struct pollfd){.fd = take_wake, .events = POLLIN}; /* fd -1: ignored by poll */
    if (poll(ready, n + 1, -1) == -1) {
        return -errno;
    }
    bool over = ready[n].revents != 0;
    for (unsigned i = 0; i <= n; i++) {
        if ((ready[i].revents & POLLNVAL) != 0) {
            take_closed();
        }
        over = over || (ready[i].revents & (POLLRDHUP | POLLHUP)) != 0;
    }
    if (over) { /* a listener was shut down: a stop that this process was not told about */
        atomic_store(&take_stopped, true);
        return take_rest(arrival);
    }
    int error = -EAGAIN;
    unsigned first = (unsigned)(nest__clock_us() % n); /* none has to wait until others are empty */
    for (unsigned i = 0; i < n && error == -EAGAIN; i++) {
        unsigned at = (first + i) % n;
        if (ready[at].revents != 0) {
            error = nest__take(&nest__listeners[at], arrival, false);
        }
    }
    return error == -EINVAL ? take_rest(arrival) : error;
}
