/* What happens while the server runs: signals, held calls, connections. A chain that dies is
 * started again.
 * Must not know: how calls are held, what a gate is. */
#define _GNU_SOURCE
#include "condition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    STEADY = 1000, /* ms that a chain must live, or its death counts as quick */
    MOST_QUICK = 6,
    PAUSE = 50,   /* ms before the second try; each next one is twice as long */
    AGAIN = 50,   /* ms until a link is announced again */
    GRACE = 5000, /* ms from TERM to KILL */
};

int server_status = -1;
static uint64_t chain_began, chain_again; /* when it is started again; 0: not */
static uint64_t kill_at = UINT64_MAX;
static unsigned quick;

uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The chain has died. Its filters finish what they hold, and clients wait for the next chain. */
static void chain_died(int result, const char *name) {
    uint64_t now = now_ms();
    chain = 0;
    quick = now - chain_began < STEADY ? quick + 1 : 0;
    if (server_status != -1 || kill_at != UINT64_MAX)
        return;
    if (quick == MOST_QUICK) {
        say("cc-chain ends as soon as it is started; %s is ended", name);
        kill(-server, SIGTERM);
        kill_at = now + GRACE;
        return;
    }
    chain_again = now + (quick > 1 ? (uint64_t)PAUSE << (quick - 2) : 0);
    if (WIFSIGNALED(result))
        say("cc-chain was killed by signal %d; it is started again", WTERMSIG(result));
    else
        say("cc-chain ended with status %d; it is started again", WEXITSTATUS(result));
}

static void restart_chain(void) {
    chain_again = 0;
    chain_began = now_ms();
    refuse_state(); /* removes the socket of the chain that has died */
    int control = start_chain();
    if (control == -1) {
        say("cc-chain cannot be started: %s", strerror(errno));
        chain_again = now_ms() + STEADY;
        return;
    }
    int error = tail_chain(control);
    if (error != 0 && error != -EPIPE) {
        /* Better no filters of this socket than some that are not there: it is tried again. */
        say("filters cannot be started: %s", strerror(-error));
        kill(chain, SIGKILL);
    }
}

static void on_signal(int signals, const char *name) {
    struct signalfd_siginfo info;
    while (read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo != SIGCHLD) {
            if (server_status == -1)
                kill(server, (int)info.ssi_signo);
            continue;
        }
        int result;
        for (pid_t pid; (pid = waitpid(-1, &result, WNOHANG)) > 0;) {
            if (pid == server)
                server_status = result;
            else if (pid == chain)
                chain_died(result, name);
        }
    }
}

/* Does what is due. Returns how long to wait, as for poll. */
static int due(uint64_t begin, const char *name) {
    static bool said;
    uint64_t now = now_ms(), next = UINT64_MAX;
    uint64_t late = begin + (uint64_t)wait_seconds * 1000;
    if (chain_again != 0 && chain_again <= now)
        restart_chain();
    if (kill_at <= now) {
        kill(-server, SIGKILL);
        kill_at = UINT64_MAX;
    }
    if (!said && gates == NULL && late <= now) {
        char datagrams[200];
        look_datagrams(server, datagrams, sizeof datagrams);
        if (*datagrams != '\0')
            say("%s listens on UDP only after %ld s (%s): filters are for TCP", name, wait_seconds,
                datagrams);
        else
            say("%s has not listened on a TCP port after %ld s; it gets filters when it does", name,
                wait_seconds);
        said = true;
    }
    if (!said && gates == NULL)
        next = late;
    if (chain_again != 0 && chain_again < next)
        next = chain_again;
    if (kill_at < next)
        next = kill_at;
    return next == UINT64_MAX ? -1 : next <= now ? 0 : (int)(next - now);
}

void run(int signals, const char *name) {
    uint64_t begin = now_ms();
    struct pollfd *polls = NULL;
    size_t room = 0;
    chain_began = begin;
    for (;;) {
        int wait = due(begin, name);
        size_t tails = tail_count();
        if (tails + 2 > room) {
            room = 2 * tails + 16;
            free(polls);
            polls = malloc(room * sizeof *polls);
            if (polls == NULL) {
                say("out of memory; %s is ended", name);
                exit(UNAVAILABLE); /* the guard ends the server */
            }
        }
        polls[0] = (struct pollfd){trap_fd, POLLIN, 0};
        polls[1] = (struct pollfd){signals, POLLIN, 0};
        if (tail_polls(polls + 2) && (wait == -1 || wait > AGAIN))
            wait = AGAIN;
        if (poll(polls, 2 + tails, wait) == -1)
            continue;
        tail_events(polls + 2);
        if (polls[1].revents != 0)
            on_signal(signals, name);
        if (polls[0].revents & POLLIN)
            trap_event();
        else if (polls[0].revents & (POLLHUP | POLLERR))
            break;
    }
    free(polls);
}
