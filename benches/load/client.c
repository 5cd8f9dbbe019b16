/* client.c: one client of the load generator: connects, asks, and verifies what is answered.
 *
 * An answer counts when its status is 200, it has the announced length, that is the file's, and all
 * of it has come. Must not know: when a client begins. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

enum { RECEIVE_MOST = 64 * 1024 };

int client_epoll;
static char received[RECEIVE_MOST];

static void client_watch(struct client *c, uint32_t events) {
    if (c->events == events) {
        return;
    }
    struct epoll_event event = {.events = events, .data.ptr = c};
    epoll_ctl(client_epoll, c->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, c->fd, &event);
    c->events = events;
}

void client_drop(struct client *c) {
    if (c->fd != -1) {
        close(c->fd);
    }
    c->fd = -1;
    c->closes = false;
    c->asked = 0;
    c->events = 0;
    c->state = CLOSED;
}

/* One that rests is done already. */
void client_fail(struct client *c, enum fault fault) {
    bool rested = c->state == RESTING;
    if (counts.measuring || c->idle) {
        counts.faults[fault]++;
    }
    client_drop(c);
    if (!rested) {
        client_done(c);
    }
}

static void client_ask(struct client *c);

/* No byte of an answer has come, and an answer before came over this connection: a server may have
 * ended it before it saw the request (RFC 9112, 9.3.1). */
static bool client_unheard(const struct client *c) {
    return c->asked > 1 && (c->state == SENDING || c->state == HEAD) && c->head_length == 0;
}

/* The connection has ended. */
static void client_broken(struct client *c, int error) {
    bool again = client_unheard(c);
    if (options.reopens && !c->idle && (again || c->state == RESTING)) {
        counts.reopened += counts.measuring;
        client_drop(c);
        if (again) {
            client_ask(c);
        }
        return;
    }
    client_fail(c, c->state == CONNECTING                  ? FAULT_CONNECT
                   : error == ECONNRESET || error == EPIPE ? FAULT_RESET
                                                           : FAULT_CLOSED);
}

/* -- asking */

static void client_send(struct client *c) {
    const struct target *t = c->target;
    while (c->sent < t->length) {
        ssize_t n = send(c->fd, t->request + c->sent, t->length - c->sent, MSG_NOSIGNAL);
        if (n == -1 && errno == EAGAIN) {
            client_watch(c, EPOLLIN | EPOLLOUT);
            return;
        }
        if (n == -1) {
            client_broken(c, errno);
            return;
        }
        c->state = SENDING;
        c->sent += (uint32_t)n;
    }
    c->state = HEAD;
    client_watch(c, EPOLLIN);
}

static bool client_connect(struct client *c) {
    static unsigned turn;
    int yes = 1;
    c->state = CONNECTING;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd == -1) {
        return false;
    }
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (options.sources > 0) {
        struct sockaddr_in own = {.sin_family = AF_INET,
                                  .sin_addr = options.from[turn++ % options.sources]};
        setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
        if (bind(c->fd, (struct sockaddr *)&own, sizeof own) == -1) {
            return false;
        }
    }
    counts.connects += counts.measuring;
    return connect(c->fd, (struct sockaddr *)&options.to, sizeof options.to) == 0 ||
           errno == EINPROGRESS;
}

/* What this client asks for next. */
static const struct target *client_draw(struct client *c) {
    if (options.target_count == 1) {
        return options.targets;
    }
    unsigned low = 0, high = options.target_count - 1;
    double at = (double)(draw(&c->draw) >> 11) * 0x1p-53 * options.targets[high].until;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (options.targets[middle].until > at) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return &options.targets[low];
}

/* Asks for its target. */
static void client_ask(struct client *c) {
    c->sent = 0;
    c->head_length = 0;
    c->outstanding = c->idle ? 1 : options.depth;
    c->asked++;
    if (c->fd == -1 && !client_connect(c)) {
        client_fail(c, FAULT_CONNECT);
        return;
    }
    client_send(c); /* a connection over loopback is there already */
}

void client_begin(struct client *c, uint64_t due) {
    c->target = client_draw(c);
    c->begun = due;
    client_ask(c);
}

/* -- verifying */

/* A whole head; -1: it is wrong and c has failed. */
static int client_head(struct client *c, const char *head, size_t n) {
    const char *end = head + n, *p = head;
    uint64_t length = UINT64_MAX;
    bool closes = false;
    if (n < 14 || memcmp(head, "HTTP/1.", 7) != 0 || head[8] != ' ') {
        client_fail(c, FAULT_MALFORMED);
        return -1;
    }
    if (memcmp(head + 9, "200", 3) != 0) {
        client_fail(c, FAULT_STATUS);
        return -1;
    }
    while ((p = memchr(p, '\n', (size_t)(end - p))) != NULL && ++p < end - 2) {
        if ((*p | 0x20) != 'c') {
            continue;
        }
        if (strncasecmp(p, "Content-Length:", 15) == 0) {
            length = strtoull(p + 15, NULL, 10);
        } else if (strncasecmp(p, "Connection: close", 17) == 0) {
            closes = true;
        }
    }
    if (length == UINT64_MAX) {
        client_fail(c, FAULT_MALFORMED);
        return -1;
    }
    if (length != c->target->body) {
        client_fail(c, FAULT_LENGTH);
        return -1;
    }
    if (closes && !options.closing && !options.reopens) {
        client_fail(c, FAULT_CLOSED);
        return -1;
    }
    c->closes = closes && options.reopens;
    c->left = length;
    c->state = BODY;
    return 0;
}

/* An answer is whole. */
static void client_answered(struct client *c) {
    c->state = HEAD;
    c->outstanding--;
    if (c->idle) {
        return;
    }
    uint64_t time = now();
    /* A closed loop counts what ends in the measured time, an open one what was due in it. */
    uint64_t at = options.rate > 0 ? c->begun : time;
    counts.ended += counts.measuring && time < counts.end;
    if (counts.measuring && at >= counts.begin && at < counts.end) {
        counts.answers++;
        c->answers++;
        histogram_add(&counts.latency, time - c->begun);
        if (c->asked > 1) {
            histogram_add(&counts.later, time - c->begun);
        }
    }
}

/* Takes bytes of heads and bodies; false: c has failed. */
static bool client_take(struct client *c, const char *p, size_t n) {
    const char *end = p + n;
    while (p < end) {
        if (c->outstanding == 0) {
            client_fail(c, FAULT_LENGTH);
            return false;
        }
        if (c->state == BODY) {
            size_t part = (size_t)(end - p) < c->left ? (size_t)(end - p) : c->left;
            p += part;
            c->left -= part;
        } else {
            const char *blank =
                c->head_length == 0 ? memmem(p, (size_t)(end - p), "\r\n\r\n", 4) : NULL;
            if (blank != NULL) {
                if (client_head(c, p, (size_t)(blank + 4 - p)) == -1) {
                    return false;
                }
                p = blank + 4;
            } else {
                if (c->head_length == HEAD_MOST) {
                    client_fail(c, FAULT_MALFORMED);
                    return false;
                }
                c->head[c->head_length++] = *p++;
                if (c->head_length < 4 ||
                    memcmp(c->head + c->head_length - 4, "\r\n\r\n", 4) != 0) {
                    continue;
                }
                size_t length = c->head_length;
                c->head_length = 0;
                if (client_head(c, c->head, length) == -1) {
                    return false;
                }
            }
        }
        if (c->state == BODY && c->left == 0) {
            client_answered(c);
        }
    }
    return true;
}

/* All answers are there. */
static void client_complete(struct client *c) {
    c->state = options.closing && !c->idle ? ENDING : RESTING;
    if (c->asked == options.requests || c->closes) {
        counts.reopened += counts.measuring && c->asked < options.requests;
        client_drop(c);
        client_done(c);
    } else if (c->state == RESTING) {
        client_done(c);
    }
}

static void client_receive(struct client *c) {
    for (;;) {
        /* The bytes of a long body are counted, not copied: the server is measured, not we. */
        bool skip = c->state == BODY && c->left > RECEIVE_MOST / 4;
        ssize_t n = recv(c->fd, received, skip ? c->left : sizeof received, skip ? MSG_TRUNC : 0);
        if (n == -1 && errno == EAGAIN) {
            return;
        }
        if (n == 0 && c->state == ENDING) { /* the end that was asked for */
            client_drop(c);
            client_done(c);
            return;
        }
        if (n <= 0) {
            client_broken(c, n == 0 ? 0 : errno);
            return;
        }
        counts.bytes += counts.measuring ? (uint64_t)n : 0;
        if (skip) {
            c->left -= (uint64_t)n;
            if (c->left == 0) {
                client_answered(c);
            }
        } else if (!client_take(c, received, (size_t)n)) {
            return;
        }
        if (c->outstanding == 0 && c->state == HEAD) {
            client_complete(c);
            if (c->state != ENDING) {
                return;
            }
        } else if (!skip && (size_t)n < sizeof received) {
            return;
        }
    }
}

void client_event(struct client *c, uint32_t events) {
    if (c->state == CONNECTING && (events & (EPOLLERR | EPOLLHUP)) != 0) {
        client_fail(c, FAULT_CONNECT);
        return;
    }
    if ((events & EPOLLOUT) != 0 && c->sent < c->target->length) {
        client_send(c);
        if (c->state == CLOSED) {
            return;
        }
    }
    if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0 && c->fd != -1) {
        client_receive(c);
    }
}
