/* Gates. A gate is one end of a socket pair that the server has in the place of its listening
 * socket. It is readable while a connection waits, so poll, select and epoll of the server work as
 * before: for each waiting connection, one byte is in the gate.
 *
 * The launcher is the reader at the end of the chain. It acknowledges a connection when it receives
 * it, and keeps it until a process of the server has it.
 * Must not know: how the kernel holds calls. */
#define _GNU_SOURCE
#include "condition.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "wire.h"

enum { MOST_READY = 1024 };

struct waiting {
    int fd;
    struct cc__address from;
};

/* A call of accept that waits for a connection. */
struct caller {
    struct seccomp_notif call;
    struct caller *next;
};

struct gate {
    ino_t inode;
    int real, domain;
    int end[2]; /* [0]: a copy of the server's end */
    int hop, link;
    unsigned owed, freed; /* connections asked for; those to ask for */
    struct waiting ready[MOST_READY];
    size_t first, count;
    struct caller *callers;
    struct gate *next;
};

struct gate *gates;
long gate_ready = 8;

/* Asks for connections and acknowledges received ones. */
static void answer(struct gate *gate, unsigned taken, unsigned returned) {
    struct cc__head head = cc__head_of(CC__TAKE);
    head.taken = taken;
    head.returned = returned;
    head.demand = gate->freed;
    if (gate->link != -1 && cc__send(gate->link, &head, NULL, 0, NULL, 0, 0) == 0) {
        gate->owed += gate->freed;
        gate->freed = 0;
    }
}

/* Announces a new link to the last filter. A filter that ended takes its link along. */
static void attach(struct gate *gate) {
    struct cc__head head = cc__head_of(CC__ATTACH);
    int pair[2];
    if (gate->link != -1)
        close(gate->link);
    gate->link = -1;
    if (cc__pair(pair) != 0)
        return;
    int error = cc__send(gate->hop, &head, NULL, 0, &pair[1], 1, 0);
    close(pair[1]);
    if (error != 0) {
        close(pair[0]);
        return;
    }
    gate->link = pair[0];
    gate->owed = 0;
    gate->freed =
        (unsigned)((size_t)gate_ready > gate->count ? (size_t)gate_ready - gate->count : 0);
    answer(gate, 0, 0);
}

/* Gives the listening socket to the chain. Returns 0 or -errno. */
static int give(int chain, int real, int hop[2]) {
    struct cc__message reply = {.bytes = NULL};
    struct cc__head head = cc__head_of(CC__LISTEN);
    int error = cc__pair(hop), got;
    if (error != 0)
        return error;
    int fds[3] = {real, hop[1], hop[0]};
    error = cc__send(chain, &head, NULL, 0, fds, 3, 0);
    do {
        got = error == 0 ? cc__receive(chain, &reply, 0) : error;
    } while (got == -EINTR);
    close(hop[1]);
    error = got == 1 ? -(int)reply.head.demand : got == 0 ? -EPIPE : got;
    if (error != 0)
        close(hop[0]);
    return error;
}

int gate_new(int chain, int real, int *fd) {
    struct gate *gate = calloc(1, sizeof *gate);
    struct stat status;
    int hop[2], error = gate == NULL ? -ENOMEM : 0, flags = fcntl(real, F_GETFL);
    socklen_t size = sizeof gate->domain;
    if (error == 0)
        error = give(chain, real, hop);
    if (error != 0) {
        free(gate);
        close(real);
        return error;
    }
    getsockopt(real, SOL_SOCKET, SO_DOMAIN, &gate->domain, &size);
    error = cc__pair(gate->end);
    if (error != 0) {
        close(hop[0]);
        close(real);
        free(gate);
        return error;
    }
    fcntl(gate->end[0], F_SETFL, flags & O_NONBLOCK);
    fstat(gate->end[0], &status);
    gate->inode = status.st_ino;
    gate->real = real;
    gate->hop = hop[0];
    gate->link = -1;
    gate->next = gates;
    gates = gate;
    attach(gate);
    *fd = gate->end[0];
    return 0;
}

int gate_real(const struct gate *gate) {
    return gate->real;
}

struct gate *gate_of(pid_t thread, int fd) {
    char path[64], target[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)thread, fd);
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n <= 8 || memcmp(target, "socket:[", 8) != 0)
        return NULL;
    target[n] = '\0';
    ino_t inode = strtoul(target + 8, NULL, 10);
    struct gate *gate = gates;
    while (gate != NULL && gate->inode != inode)
        gate = gate->next;
    return gate;
}

/* Writes the client's address where the caller of accept wants it. */
static bool tell(const struct gate *gate, const struct seccomp_notif *call,
                 const struct cc__address *from) {
    struct sockaddr_storage storage;
    if (call->data.args[1] == 0)
        return true;
    socklen_t size = cc__sockaddr_of(from, &storage, gate->domain);
    return memory_put_sized(call, call->data.args[1], call->data.args[2], &storage, size);
}

/* Hands the first waiting connection to a caller. Returns whether the caller had it; else the
 * connection still waits. */
static bool deliver(struct gate *gate, const struct seccomp_notif *call) {
    struct waiting *first = &gate->ready[gate->first];
    if (!tell(gate, call, &first->from)) {
        trap_answer(call->id, EFAULT);
        return false;
    }
    int error = trap_give(call, first->fd);
    if (error != 0) {
        /* ENOENT: the call was interrupted, and nobody waits for its answer. */
        if (error != -ENOENT)
            trap_answer(call->id, -error);
        return false;
    }
    char byte;
    close(first->fd);
    gate->first = (gate->first + 1) % MOST_READY;
    gate->count--;
    gate->freed++;
    if (recv(gate->end[0], &byte, 1, MSG_DONTWAIT) == -1)
        say("a gate has lost a byte");
    if (gate->owed == 0)
        answer(gate, 0, 0);
    return true;
}

static void serve(struct gate *gate) {
    while (gate->count > 0 && gate->callers != NULL) {
        struct caller *caller = gate->callers;
        gate->callers = caller->next;
        deliver(gate, &caller->call);
        free(caller);
    }
}

void gate_accept(struct gate *gate, const struct seccomp_notif *call) {
    if (gate->count > 0) {
        deliver(gate, call);
        return;
    }
    /* A thread waits in one call at a time: an older one of it was interrupted. */
    for (struct caller **at = &gate->callers; *at != NULL;) {
        struct caller *old = *at;
        if (old->call.pid == call->pid) {
            *at = old->next;
            free(old);
        } else {
            at = &old->next;
        }
    }
    struct caller *caller = NULL, **last = &gate->callers;
    if (fcntl(gate->end[0], F_GETFL) & O_NONBLOCK)
        trap_answer(call->id, EAGAIN);
    else if ((caller = malloc(sizeof *caller)) == NULL)
        trap_answer(call->id, ENOMEM);
    if (caller == NULL)
        return;
    *caller = (struct caller){.call = *call};
    while (*last != NULL)
        last = &(*last)->next;
    *last = caller;
}

/* Receives what the last filter has sent. */
static void receive(struct gate *gate) {
    char bytes[CC__INLINE];
    unsigned taken = 0, returned = 0;
    int got = 1;
    while (got == 1 && gate->count < MOST_READY) {
        struct cc__message message = {.bytes = bytes};
        got = cc__receive(gate->link, &message, MSG_DONTWAIT);
        if (got == -EMFILE) {
            returned++;
            break;
        }
        if (got != 1)
            break;
        gate->owed -= gate->owed > 0;
        taken++;
        if (message.head.type != CC__BUNDLE) {
            cc__close_all(message.fds, message.count);
            continue;
        }
        struct waiting *last = &gate->ready[(gate->first + gate->count) % MOST_READY];
        last->fd = message.fds[0];
        last->from = (struct cc__address){.family = message.head.family, .port = message.head.port};
        memcpy(last->from.bytes, message.head.address, sizeof last->from.bytes);
        cc__close_all(message.fds + 1, message.count - 1);
        gate->count++;
    }
    if (taken + returned > 0)
        answer(gate, taken, returned);
    for (unsigned i = 0; i < taken; i++)
        send(gate->end[1], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    serve(gate);
    if (got == 0 || (got < 0 && got != -EAGAIN && got != -EMFILE && got != -EINTR))
        attach(gate);
}

size_t gate_polls(struct pollfd *polls, size_t room) {
    size_t count = 0;
    for (struct gate *gate = gates; gate != NULL && count < room; gate = gate->next)
        polls[count++] = (struct pollfd){gate->link, POLLIN, 0};
    return count;
}

void gate_events(const struct pollfd *polls, size_t count) {
    size_t i = 0;
    for (struct gate *gate = gates; gate != NULL && i < count; gate = gate->next, i++)
        if (polls[i].revents != 0)
            receive(gate);
}
