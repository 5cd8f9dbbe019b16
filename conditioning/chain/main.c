/* cc-chain: runs the filters of a server.
 *
 *     cc-chain [OPTIONS] FILTER... -- SERVER [ARGUMENT...]     starts both; the server uses libcc
 *     cc-chain --serve FD FILTER...                            the server is at the socket FD
 *     cc-chain --status SOCKET [COMMAND]                       asks a running one
 *
 * Exit status: the server's; 100 for a wrong call, 111 for a temporary failure. */
#define _GNU_SOURCE
#include "chain.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GRACE = 5000 }; /* ms for a server whose filters have ended, before it gets TERM */

uint64_t drain_time = 30000;
unsigned long restarts;
static const char *config, *state_path;
static int control = -1, signals = -1;
static pid_t server;
bool peek, follow, returns;
static bool draining, ended;
static int exit_status;
static uint64_t drain_end;
static unsigned long
    wait_seconds; /* until it is said that the server asks for no filters; 0: not */
static uint64_t wait_end = UINT64_MAX;
static const char *server_name;

void say(const char *format, ...) {
    char line[1024], text[4 * sizeof line];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    shown(text, sizeof text, line, sizeof line);
    fprintf(stderr, "cc-chain: %s\n", text);
}

uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void children(void) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == server) {
            exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            ended = true;
        } else {
            chain_died(pid, status);
        }
    }
}

static void read_config(void) {
    char why[512];
    if (config == NULL) {
        say("HUP: there is no --config FILE to read again");
        return;
    }
    struct plan *plan = plan_read(config, why, sizeof why);
    if (plan == NULL)
        say("%s; the filters are unchanged", why);
    else if (!reload(plan, REPLACED))
        say("too few descriptors or too little memory for the new filters");
}

static void stop(void) {
    if (draining) { /* asked again: what is waited for now is waited for no longer */
        drain_end = now_ms();
        return;
    }
    draining = true;
    drain_end = now_ms() + drain_time;
    drain();
}

static void on_signal(void) {
    struct signalfd_siginfo info;
    while (read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            children();
        else if (info.ssi_signo == SIGHUP)
            read_config();
        else
            stop();
    }
}

static int wait_time(void) {
    uint64_t now = now_ms(), due = chain_tick(now);
    if (wait_end <= now) {
        wait_end = UINT64_MAX;
        if (listeners == NULL && !draining)
            say("%s has asked for no filters after %lu s: it does not use the library, or does not "
                "listen; cc-condition runs servers that do not use it",
                server_name, wait_seconds);
    }
    if (wait_end != UINT64_MAX && (due == 0 || wait_end < due))
        due = wait_end;
    if (draining && (due == 0 || drain_end < due))
        due = drain_end;
    return due == 0 ? -1 : due <= now ? 10 : due - now > 60000 ? 60000 : (int)(due - now);
}

static void run(void) {
    struct pollfd polls[32];
    bool asked = false, gone = false;
    while (!ended) {
        if (draining && !gone && (chain_gone() || now_ms() >= drain_end)) {
            /* What it took last, the server is still answering; cc_accept tells it that the chain
             * has ended. */
            chain_kill();
            gone = true;
            drain_end = now_ms() + GRACE;
            if (server == 0)
                break;
        }
        int wait = wait_time();
        if (gone && now_ms() >= drain_end) {
            if (!asked)
                kill(server, SIGTERM);
            asked = true;
            wait = -1;
        }
        polls[0] = (struct pollfd){signals, POLLIN, 0};
        polls[1] = (struct pollfd){control, POLLIN, 0};
        size_t more = state_polls(polls + 2, 30);
        if (poll(polls, 2 + more, wait) == -1)
            continue;
        if (polls[0].revents != 0)
            on_signal();
        if (polls[1].revents & POLLIN)
            serve_request(control);
        if (polls[1].revents & (POLLHUP | POLLERR)) {
            /* Every process of the server has ended, or has closed its listening sockets. */
            close(control);
            control = -1;
            ended = ended || server == 0;
            if (server != 0)
                chain_kill();
        }
        state_events(polls + 2, more);
    }
    chain_kill();
    /* Their sockets are free when it ends. A server that is left is not waited for. */
    while (server == 0 && (waitpid(-1, NULL, 0) > 0 || errno == EINTR))
        continue;
    state_close();
}

static bool catch_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals != -1;
}

int main(int argc, char **argv) {
    char why[512] = "", line[KEEP_LINE], *texts[MOST_FILTERS + 1];
    int at = 1, count = 0;
    bool serve = false, judge = false;
    signal(SIGCHLD, SIG_DFL); /* a server may have it ignored, and then no status would come */
    for (; at < argc && strncmp(argv[at], "--", 2) == 0 && argv[at][2] != '\0'; at += 2) {
        const char *option = argv[at], *value = argv[at + 1];
        char *end = NULL;
        if (strcmp(option, "--help") == 0)
            return usage(NULL);
        bool *flag = strcmp(option, "--peek") == 0      ? &peek
                     : strcmp(option, "--follow") == 0  ? &follow
                     : strcmp(option, "--returns") == 0 ? &returns
                     : strcmp(option, "--check") == 0   ? &judge
                                                        : NULL;
        if (flag != NULL) {
            *flag = true;
            at--;
            continue;
        }
        if (!usage_has_value(option))
            return usage_unknown(option);
        if (value == NULL || *value == '\0' || strncmp(value, "--", 2) == 0)
            return usage_of(option, "has no value", NULL);
        if (strcmp(option, "--status") == 0)
            return state_ask(value, argv[at + 2] != NULL ? argv[at + 2] : "status");
        if (strcmp(option, "--config") == 0)
            config = value;
        else if (strcmp(option, "--state") == 0)
            state_path = value;
        else if (strcmp(option, "--serve") == 0)
            control = fcntl(atoi(value), F_DUPFD_CLOEXEC, 10);
        else if (strcmp(option, "--keep") == 0)
            keep = fcntl(atoi(value), F_DUPFD_CLOEXEC, 10);
        else if (strcmp(option, "--restarts") == 0)
            restarts = strtoul(value, &end, 10);
        else if (strcmp(option, "--drain") == 0)
            drain_time = strtoul(value, &end, 10) * 1000;
        else
            wait_seconds = strtoul(value, &end, 10);
        if (end != NULL && (*value < '0' || *value > '9' || *end != '\0'))
            return usage_of(option, "takes a number", value);
        if (strcmp(option, "--wait") == 0 && (wait_seconds < 1 || wait_seconds > 86400))
            return usage("--wait takes seconds from 1 to 86400");
        serve = serve || strcmp(option, "--serve") == 0;
    }
    while (at + count < argc && strcmp(argv[at + count], "--") != 0)
        count++;
    char **command = at + count < argc ? argv + at + count + 1 : NULL;
    if (!serve && !judge && (command == NULL || command[0] == NULL))
        return usage("there is no server: write its command after --");
    if (wait_seconds != 0 && (serve || judge))
        return usage("--wait is for a server that is started here");
    if (config != NULL && count > 0)
        return usage("filters come from --config or from the command line, not from both");
    if (serve && control == -1)
        return usage("--serve needs the number of an open socket");
    if (serve) {
        int low = keep != -1 && keep < control ? keep : control;
        cc__close_from(3, low - 1);
        cc__close_from(low + 1, control - 1); /* nothing if there is none between */
    }
    current = config != NULL    ? plan_read(config, why, sizeof why)
              : keep_read(line) ? plan_new(texts, keep_split(line, texts), why, sizeof why)
                                : plan_new(argv + at, count, why, sizeof why);
    if (current == NULL) {
        say("%s", why);
        return WRONG_CALL;
    }
    if (judge)
        return 0;
    const char *failed = !catch_signals()                                      ? "cannot start"
                         : state_path != NULL && !state_open(state_path)       ? state_path
                         : !serve && !server_start(command, &server, &control) ? command[0]
                                                                               : NULL;
    if (failed != NULL) {
        say("%s: %s", failed, strerror(errno));
        return TEMPORARY;
    }
    if (!serve) {
        server_name = command[0];
        wait_seconds = wait_seconds != 0 ? wait_seconds : 10;
        wait_end = now_ms() + wait_seconds * 1000;
    }
    run();
    return exit_status;
}
