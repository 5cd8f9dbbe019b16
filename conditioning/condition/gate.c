/* Gates. A gate is one end of a socket pair that the server has in the place of its listening
 * socket. It is readable while a connection waits, so poll, select and epoll of the server work as
 * before: for each waiting connection, one byte is in the gate, or with --by preload a message.
 *
 * One connection may wake several processes that wait for the same gate, and those that come too
 * late get EAGAIN. Linux does the same with a listening socket, unless they use EPOLLEXCLUSIVE,
 * which works with a gate, too.
 * Must not know: how the kernel holds calls, where connections come from. */
#define _GNU_SOURCE
#include "gate.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A call of accept that waits for a connection. */
struct caller {
    struct seccomp_notif call;
    struct caller *next;
};

struct gate *gates;

struct gate *gate_new(int real, int *fd) {
    struct gate *gate = calloc(1, sizeof *gate);
    struct stat status;
    socklen_t size = sizeof gate->domain;
    if (gate == NULL || cc__pair(gate->end) != 0) {
        free(gate);
        return NULL;
    }
    getsockopt(real, SOL_SOCKET, SO_DOMAIN, &gate->domain, &size);
    fcntl(gate->end[0], F_SETFL, fcntl(real, F_GETFL) & O_NONBLOCK);
    fstat(gate->end[0], &status);
    gate->inode = status.st_ino;
    gate->real = real;
    fstat(real, &status);
    gate->real_inode = status.st_ino;
    gate->next = gates;
    gates = gate;
    *fd = gate->end[0];
    return gate;
}

void gate_free(struct gate *gate) {
    struct gate **at = &gates;
    while (*at != gate)
        at = &(*at)->next;
    *at = gate->next;
    cc__close_all(gate->end, 2);
    close(gate->real);
    free(gate);
}

struct gate *gate_next(const struct gate *gate) {
    return gate->next;
}

bool gate_has(ino_t real) {
    const struct gate *gate = gates;
    while (gate != NULL && gate->real_inode != real)
        gate = gate->next;
    return gate != NULL;
}

int gate_real(const struct gate *gate) {
    return gate->real;
}

ino_t inode_of(pid_t thread, int fd) {
    char path[64], target[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)thread, fd);
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n <= 8 || memcmp(target, "socket:[", 8) != 0)
        return 0;
    target[n] = '\0';
    return strtoul(target + 8, NULL, 10);
}

/* Whether a thread's descriptor is this process's end of the gate, which is cheaper to ask than a
 * name in /proc. Returns 1 or 0, or -1 if the kernel does not tell. */
static int is_gate(const struct gate *gate, pid_t thread, int fd) {
    static pid_t self;
    self = self != 0 ? self : getpid();
    long order = syscall(SYS_kcmp, self, thread, KCMP_FILE, gate->end[0], fd);
    return order == -1 ? -1 : order == 0;
}

struct gate *gate_of(pid_t thread, int fd) {
    enum { FEW = 4 }; /* gates that are compared one by one */
    struct gate *gate = gates;
    int tries = 0, is = 0;
    while (gate != NULL && tries++ < FEW && (is = is_gate(gate, thread, fd)) == 0)
        gate = gate->next;
    if (is == 1 || (gate == NULL && is == 0))
        return gate;
    ino_t inode = inode_of(thread, fd);
    gate = inode != 0 ? gates : NULL;
    while (gate != NULL && gate->inode != inode)
        gate = gate->next;
    return gate;
}

struct gate *gate_for(int real, int *fd) {
    struct stat status;
    struct gate *gate = fstat(real, &status) == 0 ? gates : NULL;
    while (gate != NULL && gate->real_inode != status.st_ino)
        gate = gate->next;
    if (gate != NULL)
        *fd = gate->end[0];
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

/* A byte for each waiting connection. The socket has room for a few hundred: further connections
 * have theirs when others have been accepted. */
static void add_bytes(struct gate *gate) {
    while (gate->bytes < gate->count && send(gate->end[1], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1)
        gate->bytes++;
}

static void take_byte(struct gate *gate) {
    char byte;
    bool lost = recv(gate->end[0], &byte, 1, MSG_DONTWAIT) == -1;
    if (lost)
        say("a gate has lost a byte");
    gate->bytes = lost ? 0 : gate->bytes - 1;
}

/* Hands the first waiting connection to a caller. Unless the caller has it, it still waits. Its
 * byte is taken before the call returns: a server that polls at once would find the gate readable,
 * and its next accept would fail with EAGAIN. */
static void deliver(struct gate *gate, const struct seccomp_notif *call) {
    struct waiting *first = &gate->ready[gate->first];
    if (!tell(gate, call, &first->from)) {
        trap_answer(call->id, EFAULT);
        return;
    }
    take_byte(gate);
    int error = trap_give(call, first->fd);
    if (error != 0) {
        add_bytes(gate);
        /* ENOENT: the call was interrupted, and nobody waits for its answer. */
        if (error != -ENOENT)
            trap_answer(call->id, -error);
        return;
    }
    struct tail *tail = first->tail;
    close(first->fd);
    gate->first = (gate->first + 1) % MOST_READY;
    gate->count--;
    add_bytes(gate);
    if (tail != NULL)
        tail_delivered(tail);
    else
        check_delivered(gate, call->data.nr);
}

size_t gate_count(const struct gate *gate) {
    return gate->count;
}

size_t gate_room(const struct gate *gate) {
    return MOST_READY - gate->count;
}

void gate_put(struct gate *gate, int fd, const struct cc__address *from, struct tail *tail) {
    struct waiting *last = &gate->ready[(gate->first + gate->count) % MOST_READY];
    *last = (struct waiting){.fd = fd, .from = *from, .tail = tail};
    gate->count++;
    if (!by_preload)
        add_bytes(gate);
}

void gate_serve(struct gate *gate) {
    if (by_preload)
        push(gate);
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
