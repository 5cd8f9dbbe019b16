/* --check: what the calls of the server say about the sockets that it makes, and how it uses them.
 * Must not know: chains, filters, what is printed. */
#define _GNU_SOURCE
#include "check.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_FDS = 256 }; /* descriptors of a call of poll or select that are looked at */

static const struct {
    int number;
    const char *name;
} calls[] = {{SYS_bind, "bind"},
             {SYS_listen, "listen"},
             {SYS_accept, "accept"},
             {SYS_accept4, "accept4"},
             {SYS_getsockname, "getsockname"},
             {SYS_getsockopt, "getsockopt"},
             {SYS_setsockopt, "setsockopt"},
             {SYS_shutdown, "shutdown"},
             {SYS_epoll_ctl, "epoll_ctl"},
#ifdef SYS_poll
             {SYS_poll, "poll"},
             {SYS_select, "select"},
#endif
             {SYS_ppoll, "ppoll"},
             {SYS_pselect6, "pselect6"}};

enum { CALLS = sizeof calls / sizeof calls[0] };

struct seen seen[MOST_SEEN];
size_t seen_count;
char seen_ring[256];
uint64_t seen_changed;
int seen_asked = -1;

const char *call_name(int number) {
    return number < CALLS ? calls[number].name : NULL;
}

static int index_of(int number) {
    int i = 0;
    while (i < CALLS && calls[i].number != number)
        i++;
    return i < CALLS ? i : -1;
}

static struct seen *find(pid_t thread, int fd) {
    const struct gate *gate = gate_of(thread, fd);
    ino_t inode = gate == NULL ? inode_of(thread, fd) : 0;
    for (size_t i = 0; i < seen_count; i++)
        if (gate != NULL ? seen[i].gate == gate : inode != 0 && seen[i].inode == inode)
            return &seen[i];
    return NULL;
}

static struct seen *add(ino_t inode, int type) {
    if (seen_count == MOST_SEEN)
        return NULL;
    struct seen *new = &seen[seen_count++];
    *new = (struct seen){.inode = inode, .type = type, .client = -1};
    seen_changed = now_ms();
    return new;
}

static void note(struct seen *of, int number) {
    int i = index_of(number);
    if (of == NULL || i == -1)
        return;
    *(of->gate != NULL ? &of->used : &of->made) |= 1u << i;
    bool asks = number == SYS_getsockname || number == SYS_getsockopt || number == SYS_setsockopt;
    if (asks && of->gate != NULL)
        seen_asked = i;
}

static void on_bind(const struct seccomp_notif *call) {
    struct sockaddr_storage address = {0};
    int fd = (int)call->data.args[0], value = 0;
    socklen_t size = sizeof value;
    size_t length = (size_t)call->data.args[2];
    if (length > sizeof address || !memory_get(call, call->data.args[1], &address, length) ||
        (address.ss_family != AF_INET && address.ss_family != AF_INET6))
        return;
    int copy = trap_copy((pid_t)call->pid, fd);
    bool known = copy != -1 && getsockopt(copy, SOL_SOCKET, SO_TYPE, &value, &size) == 0;
    if (copy != -1)
        close(copy);
    struct seen *of = find((pid_t)call->pid, fd);
    if (of == NULL && known && (value == SOCK_STREAM || value == SOCK_DGRAM))
        of = add(inode_of((pid_t)call->pid, fd), value);
    if (of != NULL)
        look_address(&address, of->address, sizeof of->address);
}

static void on_poll(const struct seccomp_notif *call) {
    struct pollfd polls[MOST_FDS];
    size_t n = (size_t)call->data.args[1] < MOST_FDS ? (size_t)call->data.args[1] : MOST_FDS;
    if (n > 0 && memory_get(call, call->data.args[0], polls, n * sizeof *polls))
        for (size_t i = 0; i < n; i++)
            note(find((pid_t)call->pid, polls[i].fd), call->data.nr);
}

static void on_select(const struct seccomp_notif *call) {
    fd_set set;
    int n = (int)call->data.args[0] < MOST_FDS ? (int)call->data.args[0] : MOST_FDS;
    FD_ZERO(&set);
    if (n > 0 && call->data.args[1] != 0 &&
        memory_get(call, call->data.args[1], &set, ((size_t)n + 63) / 64 * 8))
        for (int fd = 0; fd < n; fd++)
            if (FD_ISSET(fd, &set))
                note(find((pid_t)call->pid, fd), call->data.nr);
}

void check_call(const struct seccomp_notif *call) {
    int number = call->data.nr;
    if (number == SYS_io_uring_setup) {
        look_program((pid_t)call->pid, seen_ring, sizeof seen_ring);
        return;
    }
    if (number == SYS_bind)
        on_bind(call);
    if (number == SYS_ppoll)
        on_poll(call);
    else if (number == SYS_pselect6)
        on_select(call);
#ifdef SYS_poll
    else if (number == SYS_poll)
        on_poll(call);
    else if (number == SYS_select)
        on_select(call);
#endif
    else
        note(find((pid_t)call->pid, (int)call->data.args[number == SYS_epoll_ctl ? 2 : 0]), number);
}

void check_listens(struct gate *gate, pid_t thread, ino_t inode) {
    struct sockaddr_storage name = {0};
    socklen_t size = sizeof name;
    struct seen *of = NULL;
    for (size_t i = 0; i < seen_count && of == NULL; i++)
        of = seen[i].inode == inode ? &seen[i] : NULL;
    if (of == NULL && (of = add(inode, SOCK_STREAM)) == NULL)
        return;
    of->made |= 1u << index_of(SYS_listen);
    of->gate = gate;
    seen_changed = now_ms();
    look_program(thread, of->program, sizeof of->program);
    getsockname(gate_real(gate), (struct sockaddr *)&name, &size);
    look_address(&name, of->address, sizeof of->address);
    of->client = trial_client(gate_real(gate));
}

void check_delivered(const struct gate *gate, int number) {
    for (size_t i = 0; i < seen_count; i++)
        if (seen[i].gate == gate && seen[i].accepted == NULL) {
            seen[i].accepted = calls[index_of(number)].name;
            seen_changed = now_ms();
            /* The server is not to wait for its request when it is told to end. */
            if (seen[i].client != -1)
                close(seen[i].client);
            seen[i].client = -1;
        }
}
