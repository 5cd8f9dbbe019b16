/* --by preload: connections are messages in gates, and the library in the server receives them. The
 * library also asks for gates, over a socket that all processes of the server have.
 *
 * What is left in a gate is asked of the system. A process that dies with a connection in hand does
 * not spoil a count.
 * Must not know: where connections come from. */
#define _GNU_SOURCE
#include "gate.h"

#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int push_fd = -1;

/* Messages that no process has received yet. */
static size_t unread(const struct gate *gate) {
    int bytes = 0;
    if (ioctl(gate->end[1], SIOCOUTQ, &bytes) == -1 || (bytes > 0 && gate->unit == 0))
        return gate->sent;
    if (bytes == 0)
        return 0;
    size_t left = (size_t)((bytes + gate->unit - 1) / gate->unit);
    return left < gate->sent ? left : gate->sent;
}

static void settle(struct gate *gate) {
    struct cc__message message = {.bytes = NULL};
    while (cc__receive(gate->end[1], &message, MSG_DONTWAIT) == 1)
        cc__close_all(message.fds, message.count);
    for (size_t left = unread(gate); gate->sent > left;) {
        struct tail *tail = gate->ready[gate->first].tail;
        gate->first = (gate->first + 1) % MOST_READY;
        gate->count--;
        gate->sent--;
        tail_delivered(tail);
    }
}

void push(struct gate *gate) {
    settle(gate);
    while (gate->sent < gate->count) {
        struct waiting *next = &gate->ready[(gate->first + gate->sent) % MOST_READY];
        struct cc__head head = cc__head_of(CC__BUNDLE);
        head.family = next->from.family;
        head.port = next->from.port;
        head.demand = (uint32_t)gate->domain;
        memcpy(head.address, next->from.bytes, sizeof head.address);
        if (cc__send(gate->end[1], &head, NULL, 0, &next->fd, 1, MSG_DONTWAIT) != 0)
            break; /* there is no room; it is tried again when a message was received */
        if (gate->unit == 0 && ioctl(gate->end[1], SIOCOUTQ, &gate->unit) == -1)
            gate->unit = 0;
        close(next->fd);
        gate->sent++;
    }
}

/* Answers the library: with a gate, or with an error. */
static void answer(int to, int error, int fd) {
    struct cc__head head = cc__head_of(error == 0 ? CC__ATTACH : CC__REPLY);
    head.demand = (uint32_t)error;
    cc__send(to, &head, NULL, 0, &fd, error == 0, MSG_DONTWAIT);
    close(to);
}

/* A process of the server wants to listen. Returns 0 or an errno. */
static int on_listen(int real, int backlog, int *fd) {
    int error = listen(real, backlog) == -1 ? errno : 0;
    if (error != 0 || gate_for(real, fd) != NULL) {
        close(real);
        return error;
    }
    struct gate *gate = gate_new(real, fd);
    if (gate == NULL) {
        error = errno;
        close(real);
        return error;
    }
    error = tail_new(gate);
    if (error != 0 && error != -EPIPE) {
        gate_free(gate);
        return -error;
    }
    return 0;
}

bool push_event(void) {
    struct cc__message message = {.bytes = NULL};
    int got = cc__receive(push_fd, &message, MSG_DONTWAIT), fd = -1;
    if (got == 1 && message.head.type == CC__GATE) {
        int error = on_listen(message.fds[0], (int)message.head.demand, &fd);
        answer(message.fds[1], error, fd);
    } else if (got == 1) {
        cc__close_all(message.fds, message.count);
    }
    return got != 0;
}

bool push_polls(struct pollfd *polls) {
    bool waits = false;
    for (struct gate *gate = gates; gate != NULL; gate = gate->next) {
        *polls++ = (struct pollfd){gate->end[1], POLLIN, 0};
        waits = waits || gate->count > 0;
    }
    return waits;
}

void push_all(void) {
    for (struct gate *gate = gates; gate != NULL; gate = gate->next)
        push(gate);
}
