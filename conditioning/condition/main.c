/* cc-condition: runs a server that knows nothing of filters behind them.
 *
 *     cc-condition [OPTIONS] --filter NAME[,key=value]... -- SERVER [ARGUMENT...]
 *
 * Exit status: the server's; 2 for a wrong call, 69 if this system cannot do it. */
#define _GNU_SOURCE
#include "condition.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_GATES = 64 };

static const int handed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};
static long wait_seconds = 10;
static int filter_count;
static int status = -1; /* of the server, as of waitpid */
static bool chain_ended;

void say(const char *format, ...) {
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "cc-condition: %s\n", line);
}

static int usage(const char *what) {
    if (what != NULL)
        say("%s", what);
    fprintf(what != NULL ? stderr : stdout,
            "usage: cc-condition [OPTIONS] --filter NAME[,key=value]... -- SERVER [ARGUMENT...]\n\n"
            "  --filter NAME[,key=value]...  a filter; the first one accepts the clients\n"
            "  --ready NUMBER   connections that wait for the server to accept them; default 8\n"
            "  --wait SECONDS   when to say that the server does not listen; default 10\n"
            "  --options        answer getsockname, getsockopt, setsockopt as its socket would;\n"
            "                   these calls then cost more on all sockets\n"
            "  --state SOCKET   shows counters and accepts commands on SOCKET\n");
    return what != NULL ? WRONG_CALL : 0;
}

static void on_signal(int signals) {
    struct signalfd_siginfo info;
    while (read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo != SIGCHLD) {
            if (status == -1)
                kill(server, (int)info.ssi_signo);
            continue;
        }
        int result;
        for (pid_t pid; (pid = waitpid(-1, &result, WNOHANG)) > 0;) {
            if (pid == server)
                status = result;
            chain_ended |= pid == chain;
        }
    }
}

/* Serves until no process of the server is left. */
static void run(int signals, const char *name) {
    struct timespec start, now;
    bool said = false;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        struct pollfd polls[2 + MOST_GATES] = {{trap_fd, POLLIN, 0}, {signals, POLLIN, 0}};
        size_t more = gate_polls(polls + 2, MOST_GATES);
        if (poll(polls, 2 + more, said || gates != NULL ? -1 : 200) == -1)
            continue;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (!said && gates == NULL && now.tv_sec - start.tv_sec >= wait_seconds) {
            say("%s has not listened on a TCP port after %ld s; it runs without filters", name,
                wait_seconds);
            said = true;
        }
        gate_events(polls + 2, more);
        if (polls[1].revents != 0)
            on_signal(signals);
        if (polls[0].revents & POLLIN)
            trap_event();
        else if (polls[0].revents & (POLLHUP | POLLERR))
            return;
        if (chain_ended) {
            say("the chain has ended; %s is ended too", name);
            kill(-server, SIGKILL);
            chain_ended = false;
        }
    }
}

static int catch_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < sizeof handed_on / sizeof handed_on[0]; i++)
        sigaddset(&set, handed_on[i]);
    sigprocmask(SIG_SETMASK, &set, &signals_before);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool number(const char *text, long least, long most, long *value) {
    char *end;
    *value = strtol(text, &end, 10);
    return end != text && *end == '\0' && *value >= least && *value <= most;
}

int main(int argc, char **argv) {
    const char *state = NULL;
    int at = 1;
    for (; at < argc && strcmp(argv[at], "--") != 0; at += 2) {
        const char *option = argv[at], *value = argv[at + 1];
        if (strcmp(option, "--help") == 0)
            return usage(NULL);
        if (strcmp(option, "--options") == 0) {
            options = true;
            at--;
            continue;
        }
        if (strncmp(option, "--", 2) != 0)
            return usage("write the server's command after --");
        if (value == NULL)
            return usage("an option has no value");
        if (strcmp(option, "--filter") == 0 && filter_count == MOST_FILTERS)
            return usage("a chain has at most 16 filters");
        if (strcmp(option, "--filter") == 0)
            filters[filter_count++] = argv[at + 1];
        else if (strcmp(option, "--state") == 0)
            state = value;
        else if (strcmp(option, "--ready") == 0 && !number(value, 1, 1024, &gate_ready))
            return usage("--ready takes a number from 1 to 1024");
        else if (strcmp(option, "--wait") == 0 && !number(value, 1, 86400, &wait_seconds))
            return usage("--wait takes a number of seconds");
        else if (strcmp(option, "--ready") != 0 && strcmp(option, "--wait") != 0)
            return usage("there is no such option");
    }
    if (at + 1 >= argc)
        return usage("there is no server: write its command after --");
    if (filter_count == 0)
        return usage("there is no filter: name one with --filter");
    const char *missing = trap_missing();
    if (missing != NULL) {
        say("%s", missing);
        return UNAVAILABLE;
    }
    signal(SIGCHLD, SIG_DFL);
    int wrong = judge();
    if (wrong != 0)
        return wrong;
    int signals = catch_signals(), guard = -1;
    int control = start_chain(state);
    int held = control != -1 ? start_server(argv + at + 1) : -errno;
    if (held < 0 || !start_guard(&guard)) {
        int result = UNAVAILABLE << 8;
        if (server > 0)
            waitpid(server, &result, 0);
        else
            say("cannot start: %s", strerror(errno));
        return WIFEXITED(result) ? WEXITSTATUS(result) : UNAVAILABLE;
    }
    trap_start(held, control);
    run(signals, argv[at + 1]);
    if (status == -1)
        waitpid(server, &status, 0);
    if (write(guard, "", 1) == -1)
        say("the guard has ended: %s", strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
