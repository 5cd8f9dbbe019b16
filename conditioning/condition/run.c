/* What happens while the server runs: signals, held calls, connections. A chain that dies is
 * started again.
 * Must not know: how calls are held, what a gate is. */
#define _GNU_SOURCE
#include "condition.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    STEADY = 1000, /* ms that a chain must live, or its death counts as quick */
    MOST_QUICK = 6,
    PAUSE = 50,    /* ms before the second try; each next one is twice as long */
    AGAIN = 50,    /* ms until a link is announced again, or a gate is looked at */
    LOOK = 200,    /* ms between looks for sockets that the library has not seen */
    GRACE = 5000,  /* ms from TERM to KILL */
    LINGER = 1000, /* ms after the server's first process, and it is said that others go on */
    FIXED = 3      /* descriptors that are waited for besides those of tails and gates */
};

int server_status = -1;
static uint64_t chain_began, chain_again; /* when it is started again; 0: not */
static uint64_t kill_at = UINT64_MAX;
static uint64_t linger_at = UINT64_MAX; /* when it is said that others go on */
static bool asked;                      /* the server's first process has got TERM or INT */
static unsigned quick;
static bool given_up; /* the server is ended: it would serve without filters */

uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void end_text(char text[END_TEXT]) {
    if (WIFSIGNALED(server_status))
        snprintf(text, END_TEXT, "was killed by signal %d", WTERMSIG(server_status));
    else
        snprintf(text, END_TEXT, "ended with status %d", WEXITSTATUS(server_status));
}

void say_unheard(const char *name) {
    char how[END_TEXT];
    bool said = WIFEXITED(server_status) && WEXITSTATUS(server_status) >= NOT_EXECUTABLE;
    if (gates != NULL || asked || given_up || said || listen_refused)
        return;
    end_text(how);
    say("%s %s before it listened", name, how);
}

static void end_all(uint64_t now) {
    end_server(SIGTERM);
    if (kill_at == UINT64_MAX)
        kill_at = now + GRACE;
}

static void give_up(uint64_t now) {
    given_up = true;
    end_all(now);
}

/* Only the server's first process gets signals, which hands them on as it thinks right. Once it has
 * ended, nobody does, and the others get them. */
static void hand_on(int number) {
    bool ends = number == SIGTERM || number == SIGINT;
    asked = asked || ends;
    if (server_status == -1)
        kill(server, number);
    else if (ends)
        end_all(now_ms());
    else
        kill(-server, number);
}

/* The server's first process has ended, and others of it have not. */
static void say_linger(const char *name, uint64_t now) {
    char how[END_TEXT];
    end_text(how);
    say("the first process of %s %s, and others of it go on; %s", name, how,
        asked ? "they are ended" : "signals are sent to these from now on");
    if (asked)
        end_all(now);
}

/* The chain has died. Its filters finish what they hold, and clients wait for the next chain. */
static void chain_died(int result, const char *name) {
    uint64_t now = now_ms();
    chain = 0;
    quick = now - chain_began < STEADY ? quick + 1 : 0;
    if (kill_at != UINT64_MAX)
        return;
    if (quick == MOST_QUICK) {
        say("cc-chain ends as soon as it is started; %s is ended", name);
        give_up(now);
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
    remove_state();
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
            hand_on((int)info.ssi_signo);
            continue;
        }
        int result;
        for (pid_t pid; (pid = waitpid(-1, &result, WNOHANG)) > 0;) {
            if (pid == server) {
                server_status = result;
                linger_at = now_ms() + LINGER;
            } else if (pid == chain) {
                chain_died(result, name);
            } else if (pid == guard_process && !start_guard()) {
                say("the guard has ended and cannot be started again: %s", strerror(errno));
            }
        }
    }
}

/* A server that listens by calls of its own would serve clients without filters: it is ended. */
static void look_for_bypass(const char *name, uint64_t now) {
    static uint64_t again;
    if (given_up || now < again)
        return;
    again = now + LOOK;
    unsigned port = look_sockets(server, false);
    if (port == 0)
        return;
    say("%s listens on port %u without the library, which does not see the call: use --by seccomp; it is "
        "ended",
        name, port);
    give_up(now);
}

static void say_late(const char *name) {
    unsigned port = look_sockets(server, true);
    if (port != 0)
        say("%s listens on UDP only after %ld s (port %u): filters are for TCP", name, wait_seconds,
            port);
    else
        say("%s has not listened on a TCP port after %ld s; it gets filters when it does", name,
            wait_seconds);
}

/* Does what is due. Returns how long to wait, as for poll. */
static int due(uint64_t begin, const char *name) {
    static bool late;
    uint64_t now = now_ms(), next = UINT64_MAX;
    uint64_t end = begin + (uint64_t)wait_seconds * 1000;
    if (chain_again != 0 && chain_again <= now)
        restart_chain();
    if (kill_at <= now) {
        end_server(SIGKILL);
        kill_at = now + AGAIN; /* those whose parents have just ended */
    }
    if (linger_at <= now) {
        linger_at = UINT64_MAX;
        if (!given_up)
            say_linger(name, now);
    }
    if (by_preload && !late)
        look_for_bypass(name, now);
    if (!late && end <= now) {
        if (gates == NULL && !given_up)
            say_late(name);
        late = true;
    }
    if (!late)
        next = by_preload && end > now + LOOK ? now + LOOK : end;
    if (chain_again != 0 && chain_again < next)
        next = chain_again;
    if (kill_at < next)
        next = kill_at;
    if (linger_at < next)
        next = linger_at;
    return next == UINT64_MAX ? -1 : next <= now ? 0 : (int)(next - now);
}

static int sooner(int wait, int than) {
    return wait == -1 || wait > than ? than : wait;
}

/* Something is at the socket of the library. Returns false when nobody has it any more. */
static bool library_event(void) {
    if (push_event())
        return true;
    close(push_fd);
    push_fd = -1;
    return server_status == -1;
}

/* Waits for events, and handles them. Returns false when no process of the server is left. */
static bool step(int signals, int wait, const char *name) {
    static struct pollfd *polls;
    static size_t room;
    size_t tails = tail_count(), pushes = 0;
    for (struct gate *gate = by_preload ? gates : NULL; gate != NULL; gate = gate_next(gate))
        pushes++;
    if (FIXED + tails + pushes > room) {
        room = 2 * (FIXED + tails + pushes);
        free(polls);
        polls = malloc(room * sizeof *polls);
        if (polls == NULL) {
            say("out of memory; %s is ended", name);
            exit(UNAVAILABLE); /* the guard ends the server */
        }
    }
    polls[0] = (struct pollfd){by_preload ? push_fd : trap_fd, POLLIN, 0};
    polls[1] = (struct pollfd){signals, POLLIN, 0};
    polls[2] = (struct pollfd){follow_fd, POLLIN, 0};
    if (tail_polls(polls + FIXED))
        wait = sooner(wait, AGAIN);
    if (by_preload && push_polls(polls + FIXED + tails))
        wait = sooner(wait, AGAIN);
    if (poll(polls, FIXED + tails + pushes, wait) == -1)
        return true;
    tail_events(polls + FIXED);
    if (by_preload)
        push_all();
    if (polls[2].revents != 0)
        follow_event();
    if (polls[1].revents != 0)
        on_signal(signals, name);
    if (by_preload)
        return polls[0].revents != 0 ? library_event() : push_fd != -1 || server_status == -1;
    if (polls[0].revents & POLLIN)
        trap_event();
    return (polls[0].revents & POLLIN) || !(polls[0].revents & (POLLHUP | POLLERR));
}

bool run(int signals, const char *name) {
    uint64_t begin = now_ms();
    struct rlimit files;
    /* Connections that are followed need a descriptor each. */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    chain_began = begin;
    while (step(signals, due(begin, name), name))
        continue;
    return !given_up;
}
