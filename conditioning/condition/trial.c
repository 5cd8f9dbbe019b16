/* --check: the server runs for a moment without filters. A client of ours shows whether it accepts
 * through a gate.
 * Must not know: chains, filters. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SETTLE = 1000, /* ms without a new socket: it has all of them */
    GRACE = 5000   /* ms from TERM to KILL */
};

bool trial_ended, trial_background;

int trial_client(int real) {
    struct sockaddr_storage to = {0};
    struct sockaddr_in *in = (void *)&to;
    struct sockaddr_in6 *in6 = (void *)&to;
    socklen_t size = sizeof to;
    getsockname(real, (struct sockaddr *)&to, &size);
    if (to.ss_family == AF_INET && in->sin_addr.s_addr == htonl(INADDR_ANY))
        in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (to.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr))
        in6->sin6_addr = in6addr_loopback;
    int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd != -1 && connect(fd, (struct sockaddr *)&to, size) == -1 && errno != EINPROGRESS) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* A client has connected: ours, or one that came by itself. */
static void on_client(const struct seen *of) {
    struct sockaddr_storage name = {0};
    socklen_t size = sizeof name;
    int fd =
        accept4(gate_real(of->gate), (struct sockaddr *)&name, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd == -1)
        return;
    struct cc__address from = cc__address_of(&name);
    gate_put(of->gate, fd, &from, NULL);
    gate_serve(of->gate);
}

/* Whether every socket has had a client, and no new one has come for a while. */
static bool settled(void) {
    bool listens = false;
    for (size_t i = 0; i < seen_count; i++) {
        if (seen[i].gate != NULL && seen[i].accepted == NULL)
            return false;
        listens = listens || seen[i].gate != NULL;
    }
    return listens && now_ms() - seen_changed >= SETTLE;
}

static void on_signal(int signals, bool *stop) {
    struct signalfd_siginfo info;
    int result;
    while (read(signals, &info, sizeof info) == (ssize_t)sizeof info)
        *stop = *stop || info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT;
    for (pid_t pid; (pid = waitpid(-1, &result, WNOHANG)) > 0;)
        if (pid == server)
            server_status = result;
}

/* One round of the loop. Returns false when no process of the server is left. */
static bool step(int signals, bool *stop, bool clients) {
    struct pollfd polls[2 + MOST_SEEN] = {{trap_fd, POLLIN, 0}, {signals, POLLIN, 0}};
    for (size_t i = 0; i < seen_count; i++) {
        bool wanted = clients && seen[i].gate != NULL && gate_room(seen[i].gate) > 0;
        polls[2 + i] = (struct pollfd){wanted ? gate_real(seen[i].gate) : -1, POLLIN, 0};
    }
    size_t had = seen_count;
    if (poll(polls, 2 + had, 50) == -1)
        return true;
    if (polls[1].revents != 0)
        on_signal(signals, stop);
    for (size_t i = 0; i < had; i++)
        if (polls[2 + i].revents != 0)
            on_client(&seen[i]);
    if (polls[0].revents & POLLIN)
        trap_event();
    return (polls[0].revents & (POLLIN | POLLHUP | POLLERR)) != POLLHUP;
}

void check_run(int signals) {
    uint64_t end = now_ms() + (uint64_t)wait_seconds * 1000;
    bool stop = false, runs = true;
    while (runs && !stop && !settled() && now_ms() < end)
        runs = step(signals, &stop, true);
    trial_background = server_status != -1 && runs;
    trial_ended = server_status != -1 || !runs;
    if (runs)
        end_server(SIGTERM);
    for (end = now_ms() + GRACE; runs && now_ms() < end;)
        runs = step(signals, &stop, false);
    if (runs)
        end_server(SIGKILL);
    for (end = now_ms() + GRACE; runs && now_ms() < end;)
        runs = step(signals, &stop, false);
}
