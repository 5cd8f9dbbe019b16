/* When the server has finished with a connection. Filters such as slowread give a connection a
 * lease: it ends when nobody behind them has the connection any more. An unmodified server does not
 * know of leases, so they are kept here until the kernel says that the connection's socket is gone
 * (NETLINK_SOCK_DIAG).
 * Must not know: gates, filters. */
#define _GNU_SOURCE
#include "condition.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BUCKETS = 4096,
    BUFFER = 1 << 20 /* bytes of events that wait to be read */
};

struct followed {
    uint64_t cookie;
    int lease[CC__LEASES];
    int count;
    bool seen;
    struct followed *next;
};

int follow_fd = -1;
static struct followed *buckets[BUCKETS];

static int open_events(void) {
    struct sockaddr_nl at = {.nl_family = AF_NETLINK,
                             .nl_groups = 1u << (SKNLGRP_INET_TCP_DESTROY - 1) |
                                          1u << (SKNLGRP_INET6_TCP_DESTROY - 1)};
    int size = BUFFER;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
    if (fd != -1 && bind(fd, (struct sockaddr *)&at, sizeof at) == -1) {
        close(fd);
        return -1;
    }
    if (fd != -1 && setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) == -1)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    return fd;
}

bool follow_possible(void) {
    int fd = open_events();
    if (fd != -1)
        close(fd);
    return fd != -1;
}

static void release(struct followed **at) {
    struct followed *one = *at;
    *at = one->next;
    cc__close_all(one->lease, one->count);
    free(one);
}

void follow(int client, const int *leases, int count) {
    struct followed *one = count > 0 ? calloc(1, sizeof *one) : NULL;
    socklen_t size = sizeof one->cookie;
    if (count == 0)
        return;
    if (follow_fd == -1)
        follow_fd = open_events();
    if (one == NULL || follow_fd == -1 ||
        getsockopt(client, SOL_SOCKET, SO_COOKIE, &one->cookie, &size) == -1) {
        say("the end of a connection cannot be followed: %s", strerror(errno));
        cc__close_all(leases, count); /* filters take it as ended */
        free(one);
        return;
    }
    memcpy(one->lease, leases, (size_t)count * sizeof *leases);
    one->count = count;
    one->next = buckets[one->cookie % BUCKETS];
    buckets[one->cookie % BUCKETS] = one;
}

static struct followed **find(uint64_t cookie) {
    struct followed **at = &buckets[cookie % BUCKETS];
    while (*at != NULL && (*at)->cookie != cookie)
        at = &(*at)->next;
    return at;
}

/* Reads messages about sockets. Each is either gone, or still there. Returns what recv did; -1 also
 * if the kernel reports an error. */
static ssize_t read_sockets(int fd, bool gone, bool *done) {
    _Alignas(struct nlmsghdr) char buffer[32768];
    ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    size_t left = got > 0 ? (size_t)got : 0;
    for (struct nlmsghdr *m = (void *)buffer; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
        const struct inet_diag_msg *of = NLMSG_DATA(m);
        if (m->nlmsg_type == NLMSG_ERROR) {
            errno = -((const struct nlmsgerr *)NLMSG_DATA(m))->error;
            return -1;
        }
        *done = *done || m->nlmsg_type == NLMSG_DONE;
        if (m->nlmsg_type != SOCK_DIAG_BY_FAMILY || m->nlmsg_len < NLMSG_LENGTH(sizeof *of))
            continue;
        struct followed **at =
            find((uint64_t)of->id.idiag_cookie[1] << 32 | of->id.idiag_cookie[0]);
        if (*at != NULL && gone)
            release(at);
        else if (*at != NULL)
            (*at)->seen = true;
    }
    return got;
}

/* Marks the sockets of a family that are there. Returns false if the kernel did not tell. */
static bool mark(uint8_t family) {
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 ask;
    } request = {
        .head = {.nlmsg_len = sizeof request,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .ask = {.sdiag_family = family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u}};
    bool done = false;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    bool good = fd != -1 && send(fd, &request, sizeof request, 0) == (ssize_t)sizeof request;
    while (good && !done) {
        ssize_t got = read_sockets(fd, false, &done);
        good = got > 0 || (got == -1 && errno == EINTR);
    }
    if (fd != -1)
        close(fd);
    return good;
}

/* Events were lost: the kernel lists the sockets that are there, and all others are gone. */
static void catch_up(void) {
    if (!mark(AF_INET) || !mark(AF_INET6)) {
        say("the kernel does not list connections: %s", strerror(errno));
        return;
    }
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct followed **at = &buckets[i]; *at != NULL;) {
            if (!(*at)->seen) {
                release(at);
                continue;
            }
            (*at)->seen = false;
            at = &(*at)->next;
        }
    }
}

void follow_event(void) {
    bool done = false;
    ssize_t got;
    do {
        got = read_sockets(follow_fd, true, &done);
    } while (got > 0);
    if (got == -1 && errno == ENOBUFS)
        catch_up();
}
