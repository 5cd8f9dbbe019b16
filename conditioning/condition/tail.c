/* Tails. A tail is the end of a chain of filters, from which cc-condition receives the connections
 * of a gate (gate.c). The gate keeps a connection until a process of the server has it. Like a
 * filter, a tail does not acknowledge what it receives (../README.md).
 *
 * If cc-chain dies, its filters finish what they hold and a new chain listens on the same socket: a
 * gate then has two tails for a while.
 * Must not know: how connections get into the server. */
#define _GNU_SOURCE
#include "condition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tail {
    struct gate *gate;
    int hop, link;  /* link: -1 while there is none */
    unsigned owed;  /* connections that were asked for and have not arrived */
    unsigned freed; /* connections to ask for with the next message */
    size_t queued;  /* connections in the gate */
    bool crowded;   /* there were too few descriptors for the next connection */
    bool leaving;   /* cc-chain of this chain has died; its filters finish */
    struct tail *next;
};

static struct tail *tails;
static int highest; /* of the descriptors that were received */
static int chain_socket = -1;
long tail_ready = 8;

/* Asks for as many connections as were delivered. */
static void ask_for_more(struct tail *tail) {
    struct cc__head head = cc__head_of(CC__TAKE);
    head.demand = tail->freed;
    if (tail->link != -1 && cc__send(tail->link, &head, NULL, 0, NULL, 0, 0) == 0) {
        tail->owed += tail->freed;
        tail->freed = 0;
    }
}

/* Announces a new link to the last filter. When that filter ends, the link ends too. */
static void attach(struct tail *tail) {
    struct cc__head head = cc__head_of(CC__ATTACH);
    int pair[2];
    if (cc__pair(pair) != 0)
        return;
    int fds[2] = {pair[1], pair[0]};
    int error = cc__send(tail->hop, &head, NULL, 0, fds, 2, MSG_DONTWAIT);
    close(pair[1]);
    if (error != 0) {
        close(pair[0]);
        return;
    }
    tail->link = pair[0];
    tail->owed = 0;
    size_t ready = (size_t)tail_ready;
    tail->freed = (unsigned)(ready > tail->queued ? ready - tail->queued : 0);
    ask_for_more(tail);
}

static void end_link(struct tail *tail) {
    if (tail->link != -1)
        close(tail->link);
    tail->link = -1;
}

/* Gives a listening socket to the chain. Returns 0 or -errno; `hop` is then where links to its last
 * filter are announced. */
static int give(int real, int *hop) {
    struct cc__message reply = {.bytes = NULL};
    struct cc__head head = cc__head_of(CC__LISTEN);
    int pair[2], error = cc__pair(pair), got;
    if (error != 0)
        return error;
    int fds[3] = {real, pair[1], pair[0]};
    error = cc__send(chain_socket, &head, NULL, 0, fds, 3, 0);
    do {
        got = error == 0 ? cc__receive(chain_socket, &reply, 0) : error;
    } while (got == -EINTR);
    close(pair[1]);
    error = got == 1 ? -(int)reply.head.demand : got == 0 || got == -ECONNRESET ? -EPIPE : got;
    if (error != 0)
        close(pair[0]);
    else
        *hop = pair[0];
    return error;
}

int tail_new(struct gate *gate) {
    struct tail *tail = calloc(1, sizeof *tail);
    int error = tail == NULL ? -ENOMEM : give(gate_real(gate), &tail->hop);
    if (error != 0) {
        free(tail);
        return error;
    }
    tail->gate = gate;
    tail->link = -1;
    tail->next = tails;
    tails = tail;
    attach(tail);
    return 0;
}

void tail_end(void) {
    if (chain_socket != -1)
        close(chain_socket);
    chain_socket = -1;
}

int tail_chain(int control) {
    tail_end();
    chain_socket = control;
    for (struct tail *tail = tails; tail != NULL; tail = tail->next)
        tail->leaving = true;
    int error = 0;
    for (struct gate *gate = gates; gate != NULL && error == 0; gate = gate_next(gate))
        error = tail_new(gate);
    return error;
}

void tail_delivered(struct tail *tail) {
    tail->queued--;
    tail->freed++;
    if (tail->owed == 0)
        ask_for_more(tail);
}

/* Puts what was received into the gate. */
static void put(struct tail *tail, const struct cc__message *message) {
    for (int i = 0; i < message->count; i++)
        highest = message->fds[i] > highest ? message->fds[i] : highest;
    if (message->head.type != CC__BUNDLE) {
        cc__close_all(message->fds, message->count);
        return;
    }
    struct cc__address from = {.family = message->head.family, .port = message->head.port};
    memcpy(from.bytes, message->head.address, sizeof from.bytes);
    int leases = message->head.leases;
    follow(message->fds[0], message->fds + 1, leases);
    cc__close_all(message->fds + 1 + leases, message->count - 1 - leases);
    gate_put(tail->gate, message->fds[0], &from, tail);
    tail->queued++;
    tail->owed -= tail->owed > 0;
}

/* Receives what the last filter has sent. */
static void receive(struct tail *tail) {
    struct cc__message messages[CC__BATCH];
    size_t room = gate_room(tail->gate);
    int most = cc__fitting(highest);
    if (room < (size_t)most)
        most = (int)room;
    for (int i = 0; i < most; i++)
        messages[i].bytes = NULL; /* the server reads the request */
    int count = most > 0 ? cc__receive_many(tail->link, messages, most) : -EMFILE;
    bool over = count < 0 && count != -EAGAIN && count != -EMFILE;
    tail->crowded = count == -EMFILE;
    for (int i = 0; i < count && !over; i++) {
        over = messages[i].got == 0;
        if (messages[i].got == 1)
            put(tail, &messages[i]);
    }
    gate_serve(tail->gate);
    if (over)
        end_link(tail);
}

size_t tail_count(void) {
    size_t count = 0;
    for (const struct tail *tail = tails; tail != NULL; tail = tail->next)
        count++;
    return count;
}

bool tail_polls(struct pollfd *polls) {
    bool again = false;
    for (struct tail *tail = tails; tail != NULL; tail = tail->next) {
        again |= (tail->link == -1 && !tail->leaving) || tail->crowded;
        bool full = gate_room(tail->gate) == 0 || tail->crowded;
        *polls++ = (struct pollfd){full ? -1 : tail->link, POLLIN, 0};
        tail->crowded = false; /* it is tried again after the next event */
    }
    return again;
}

void tail_events(const struct pollfd *polls) {
    for (struct tail **at = &tails; *at != NULL; polls++) {
        struct tail *tail = *at;
        if (polls->revents != 0)
            receive(tail);
        if (tail->link == -1 && !tail->leaving)
            attach(tail);
        if (tail->link != -1 || !tail->leaving || tail->queued > 0) {
            at = &tail->next;
            continue;
        }
        *at = tail->next;
        close(tail->hop);
        free(tail);
    }
}
