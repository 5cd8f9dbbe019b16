/* links.c: takes connections from filters, which accept them, in place of take.c.
 *
 * Called by the worker models and the loop. State, per thread that takes connections: a link to the
 * last filter of each listener. Must not know sessions or models, nor which filters there are.
 *
 * A link is a pair of connected sockets, whose other end the filter gets over the hop. A thread
 * asks for a connection only when it can serve one, one at a time, so clients wait in filters, and
 * a filter that chooses has a choice. What it has asked for and cannot serve after all it gives
 * back by closing the link: the filter passes on what was not acknowledged to another link. A
 * filter leaves what its client has sent in the client's socket, so there is nothing to receive but
 * the socket and its leases. */
#include "../../conditioning/libcc/wire.h"
#include "../platform/platform.h"
#include "../service/filters/filters.h"
#include "../service/proxied/proxied.h"
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* scope: thread. */
static _Thread_local struct links_link {
    int fd;     /* 0: there is none */
    bool asked; /* for a connection that has not come */
} links[NEST__LISTEN_MAX];

/* scope: thread: the client that was taken last. */
static _Thread_local struct nest__from links_from;

_Static_assert((int)CC__LEASES == (int)NEST__LEASES_MOST, "a session has room for its leases");

/* -- links */

/* Whether the filters have ended for good. */
static bool links_over(unsigned i) {
    return (nest__poll_now(nest__filters_hop(i), 0) & POLLHUP) != 0;
}

/* The filter sees the end of the link even if a ring still refers to it. A loop that has no link
 * waits for the end of the hop. */
static void links_close(unsigned i) {
    if (links[i].fd != 0) {
        if (nest__listeners[i].fd == links[i].fd) {
            nest__listeners[i].fd = nest__filters_hop(i);
        }
        (void)shutdown(links[i].fd, SHUT_RDWR);
        close(links[i].fd);
        links[i] = (struct links_link){0};
    }
}

static void links_close_all(void) {
    for (unsigned i = 0; i < nest__listener_count; i++) {
        links_close(i);
    }
}

/* Tells the filter what has become of the connections it sent, and asks for `demand` more. */
static void links_tell(unsigned i, uint32_t taken, uint32_t returned, uint32_t demand) {
    struct cc__head head = cc__head_of(CC__TAKE);
    head.taken = taken;
    head.returned = returned;
    head.demand = demand;
    (void)cc__send(links[i].fd, &head, NULL, 0, NULL, 0, 0); /* its failure shows in a receive */
    links[i].asked = demand > 0;
}

/* Makes a link if there is none, and asks for a connection. -EINVAL: the filters have ended. */
static int links_ready(unsigned i) {
    if (links[i].fd == 0) {
        struct cc__head head = cc__head_of(CC__ATTACH);
        int pair[2];
        int error = cc__pair(pair);
        if (error != 0) {
            return error;
        }
        error = cc__send(nest__filters_hop(i), &head, NULL, 0, &pair[1], 1, MSG_DONTWAIT);
        close(pair[1]);
        if (error != 0) {
            close(pair[0]);
            return error == -EPIPE || error == -ECONNRESET ? -EINVAL
                   : error == -EAGAIN                      ? -ENOBUFS
                                                           : error;
        }
        links[i].fd = pair[0];
    }
    if (!links[i].asked) {
        links_tell(i, 0, 0, 1);
    }
    return 0;
}

/* In a child that an action forked: the links are the parent's. */
static void links_forked(void) {
    for (unsigned i = 0; i < NEST__LISTEN_MAX; i++) {
        if (links[i].fd != 0) {
            close(links[i].fd);
            links[i] = (struct links_link){0};
        }
    }
}

/* -- connections */

/* Who it is, as the filters say, of which one may have read the header of a proxy. */
static const struct nest__from *links_client(const struct cc__head *head) {
    uint32_t at = head->family == 4 ? 12 : 0;
    links_from = (struct nest__from){.port = head->port};
    if (at > 0) {
        links_from.bytes[10] = links_from.bytes[11] = 0xff;
    }
    memcpy(links_from.bytes + at, head->address, sizeof links_from.bytes - at);
    return &links_from;
}

static void links_arrive(unsigned i, const struct cc__message *message,
                         struct nest__arrival *arrival, bool nonblocking) {
    unsigned leases = message->head.leases;
    cc__close_all(message->fds + 1 + leases, message->count - 1 - (int)leases); /* a long request */
    bool complete = (message->head.flags & CC__COMPLETE) != 0;
    nest__filters_leases(message->fds + 1, leases, complete ? message->head.length : 0);
    if (nonblocking) {
        (void)fcntl(message->fds[0], F_SETFL, O_RDWR | O_NONBLOCK);
    }
    *arrival = (struct nest__arrival){
        .fd = message->fds[0], .kind = nest__listeners[i].kind, .listener = (uint8_t)i};
    if (NEST__PROXIED && message->head.family != 0) {
        arrival->from = links_client(&message->head);
    }
}

/* Receives a connection. `more`: asks for the next one at the same time. Results as of nest__take;
 * -ESHUTDOWN: the link has ended, make another one. */
static int links_take(unsigned i, struct nest__arrival *arrival, bool more, int flags) {
    struct cc__message message = {.bytes = NULL};
    int got = cc__receive(links[i].fd, &message, flags);
    if (got == 1 && message.head.type == CC__BUNDLE) {
        links_tell(i, 1, 0, more);
        links_arrive(i, &message, arrival, more);
        return 0;
    }
    if (got == 1 || got == -EPROTO) {
        cc__close_all(message.fds, message.count);
        links_tell(i, 1, 0, more);
        return -EAGAIN;
    }
    if (got == -EMFILE) {
        links_tell(i, 0, 1, 0);
    } else if (got == 0) {
        links_close(i);
        return links_over(i) ? -EINVAL : -ESHUTDOWN;
    }
    return got;
}

int nest__take(struct nest__listener *l, struct nest__arrival *arrival, bool nonblocking) {
    unsigned i = (unsigned)(l - nest__listeners);
    if (links[i].fd == 0) {
        return links_over(i) ? -EINVAL : -ESHUTDOWN;
    }
    return links_take(i, arrival, nonblocking, MSG_DONTWAIT);
}

/* A thread that has a client gives back what it has asked for elsewhere. */
static void links_give_back(void) {
    for (unsigned i = 0; i < nest__listener_count; i++) {
        if (links[i].asked) {
            links_close(i);
        }
    }
}

int nest__take_any(struct nest__arrival *arrival) {
    struct pollfd ready[NEST__LISTEN_MAX];
    unsigned listener[NEST__LISTEN_MAX], n = 0;
    for (unsigned i = 0; i < nest__listener_count; i++) {
        int error = links_ready(i);
        if (error == 0) {
            ready[n] = (struct pollfd){.fd = links[i].fd, .events = POLLIN};
            listener[n++] = i;
        } else if (error != -EINVAL) {
            return error;
        }
    }
    if (n == 0) {
        return -EINVAL;
    }
    if (n > 1 && poll(ready, n, -1) == -1) {
        return -errno;
    }
    unsigned first = n > 1 ? (unsigned)(nest__clock_us() % n) : 0; /* as in take.c */
    for (unsigned i = 0; i < n; i++) {
        unsigned k = (first + i) % n;
        if (n > 1 && ready[k].revents == 0) {
            continue;
        }
        int error = links_take(listener[k], arrival, false, n > 1 ? MSG_DONTWAIT : 0);
        if (error == 0) {
            links_give_back();
        }
        if (error != -EAGAIN && error != -ESHUTDOWN && error != -EINVAL) {
            return error;
        }
    }
    return -EAGAIN;
}

void nest__take_leave(void) {
    links_close_all();
}

/* -- listeners */

int nest__listen_arm(bool on) {
    int error = 0;
    for (unsigned i = 0; i < nest__listener_count; i++) {
        if (!on) {
            links_close(i);
        } else if (error == 0) {
            error = links_ready(i);
            error = error == -EINVAL ? 0 : error; /* nest__take says so */
        }
        nest__listeners[i].fd = links[i].fd == 0 ? nest__filters_hop(i) : links[i].fd;
    }
    return error;
}

int nest__take_prepare(bool given) {
    (void)given; /* filters poll, and the socket of another program is only left */
    for (unsigned i = 0; i < nest__listener_count; i++) {
        if (nest__listeners[i].tls == NEST__LISTEN_TLS) {
            nest__say("cannot listen: the word 'tls' is not for servers with filters");
            return -EINVAL;
        }
        if (nest__listeners[i].proxied) {
            nest__say(
                "cannot listen: the word 'proxy' is not for servers with filters, which would "
                "take the header for the client's message; write %%filter proxy instead");
            return -EINVAL;
        }
    }
    int error = -pthread_atfork(NULL, NULL, links_forked);
    if (error != 0) {
        nest__say("cannot listen: %s", strerror(-error));
        return error;
    }
    return nest__filters_begin();
}

void nest__take_close(void) {
    nest__filters_end();
}

int nest__listen_nonblocking(void) {
    return 0;
}

/* The supervisor ends the filters, which pass on what they hold before. */
bool nest__listen_stop(void) {
    bool all = true;
    for (unsigned i = 0; i < nest__listener_count; i++) {
        all = all && links_over(i);
    }
    return all;
}
