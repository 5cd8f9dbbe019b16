/* cc-condition: runs an unmodified server behind filters: the command line, and the order of steps.
 *
 *     cc-condition [OPTIONS] --filter NAME[,key=value]... -- SERVER [ARGUMENT...]
 *     cc-condition --check [OPTIONS] -- SERVER [ARGUMENT...]     whether that would work
 *     cc-condition --status --state SOCKET [--metrics]           asks a running cc-condition
 *     cc-condition --change --state SOCKET --filter ...          gives it other filters
 *
 * Exit status: the server's; 2 if the command line is wrong, 69 if the system or the server does
 * not allow it. Must not know: how calls are held, where connections come from. */
#define _GNU_SOURCE
#include "condition.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static const int handed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};
char *filters[MOST_FILTERS + 1];
bool options, by_preload, checking;
const char *state;
long wait_seconds = 10;
static bool asking, metrics, changing;
static bool ready_given;  /* --ready, which --check does not allow */
static bool others_given; /* --by, --ready or --wait, which --status does not allow */
static int filter_count;

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
            "usage: cc-condition [OPTIONS] --filter NAME[,key=value]... -- SERVER [ARGUMENT...]\n"
            "       cc-condition --check [OPTIONS] -- SERVER [ARGUMENT...]\n"
            "       cc-condition --status --state SOCKET [--metrics]\n"
            "       cc-condition --change --state SOCKET --filter NAME[,key=value]...\n\n"
            "  --filter NAME[,key=value]...  a filter; the first one accepts the clients\n"
            "  --check          starts the server for a moment and says whether filters can be\n"
            "                   put in front of it\n"
            "  --by preload     by a library in the server instead of held calls (seccomp)\n"
            "  --ready NUMBER   connections that wait for the server to accept them; default 8\n"
            "  --wait SECONDS   when to say that the server does not listen; default 10\n"
            "  --options        answer getsockname, getsockopt, setsockopt as its socket would;\n"
            "                   these calls then cost more on all sockets\n"
            "  --state SOCKET   shows counters and accepts commands on SOCKET\n"
            "  --status         prints the counters of a running one\n"
            "  --metrics        as OpenMetrics text\n"
            "  --change         gives a running one these filters in place of its own\n");
    return what != NULL ? WRONG_CALL : 0;
}

/* An option is wrong. */
static int usage_of(const char *option, const char *what) {
    char text[512];
    snprintf(text, sizeof text, "%s %s", option, what);
    return usage(text);
}

/* A word that is no option. `before`: the one before it. */
static int stray(const char *word, const char *before) {
    char text[512];
    bool flag = strncmp(before, "--", 2) == 0;
    snprintf(text, sizeof text, "'%s' is not an option%s%s%s: write the server's command after --",
             word, flag ? ", and " : "", flag ? before : "", flag ? " takes no value" : "");
    return usage(text);
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

static bool flag(const char *option) {
    struct {
        const char *name;
        bool *value;
    } flags[] = {{"--options", &options},
                 {"--check", &checking},
                 {"--status", &asking},
                 {"--metrics", &metrics},
                 {"--change", &changing}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (strcmp(option, flags[i].name) == 0)
            return *flags[i].value = true;
    return false;
}

static bool has_value(const char *option) {
    static const char *const all[] = {"--filter", "--state", "--by", "--ready", "--wait"};
    size_t i = 0;
    while (i < sizeof all / sizeof all[0] && strcmp(all[i], option) != 0)
        i++;
    return i < sizeof all / sizeof all[0];
}

/* Reads an option with a value. Returns what is wrong, or NULL. */
static const char *option_of(const char *option, char *value) {
    if (strcmp(option, "--filter") == 0) {
        if (filter_count == MOST_FILTERS)
            return "a chain has at most 16 filters";
        filters[filter_count++] = value;
    } else if (strcmp(option, "--state") == 0) {
        state = value;
    } else if (strcmp(option, "--by") == 0) {
        others_given = true;
        by_preload = strcmp(value, "preload") == 0;
        return by_preload || strcmp(value, "seccomp") == 0 ? NULL : "--by takes seccomp or preload";
    } else if (strcmp(option, "--ready") == 0) {
        ready_given = others_given = true;
        return number(value, 1, 1024, &tail_ready) ? NULL : "--ready takes a number from 1 to 1024";
    } else {
        others_given = true;
        return number(value, 1, 86400, &wait_seconds) ? NULL
                                                      : "--wait takes seconds from 1 to 86400";
    }
    return NULL;
}

/* Returns a message if options contradict each other, or NULL. */
static const char *contradiction(bool has_server) {
    if (metrics && !asking)
        return "--metrics needs --status: write --status --state SOCKET --metrics, as the running "
               "one has its SOCKET";
    if (asking)
        return checking || changing || has_server || filter_count > 0 || options || others_given
                   ? "--status starts nothing: give only "
                     "--state SOCKET, and --metrics"
               : state == NULL ? "--status needs --state SOCKET, as the running one has it"
                               : NULL;
    if (changing)
        return checking || has_server || options || others_given
                   ? "--change starts nothing: give only --state SOCKET and the filters"
               : state == NULL     ? "--change needs --state SOCKET, as the running one has it"
               : filter_count == 0 ? "--change needs filters: name them with --filter"
                                   : NULL;
    if (!has_server)
        return "there is no server: write its command after --";
    if (checking && by_preload)
        return "--check examines held calls; it says whether the program is linked dynamically, "
               "which --by preload needs";
    if (checking && (state != NULL || ready_given))
        return "--check starts no filters, so there is no --state and no --ready";
    return filter_count == 0 && !checking ? "there is no filter: name one with --filter" : NULL;
}

/* Runs the server. Returns the exit status. */
static int serve(char **command) {
    int signals = catch_signals();
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* so that the server's orphans can be ended, too */
    int control = checking ? -1 : start_chain();
    if (signals == -1 || (control == -1 && !checking)) {
        say("%s cannot be started: %s", command[0], strerror(errno));
        return UNAVAILABLE;
    }
    if (!checking && !chain_ready(control))
        return UNAVAILABLE;
    int held = by_preload ? start_preloaded(command) : start_server(command);
    if (held < 0 || !start_guard()) {
        if (held >= 0)
            say("the guard of %s cannot be started: %s; %s is ended", command[0], strerror(errno),
                command[0]);
        cc__close_all(&held, held >= 0); /* calls that are held fail */
        int result = server > 0 ? stop_server() : UNAVAILABLE << 8;
        cc__close_all(&control, control != -1);
        end_chain();
        return held < 0 && WIFEXITED(result) ? WEXITSTATUS(result) : UNAVAILABLE;
    }
    bool good = true;
    if (by_preload)
        push_fd = held;
    else
        trap_start(held);
    if (checking) {
        check_run(signals);
    } else {
        tail_chain(control);
        good = run(signals, command[0]);
        end_chain();
    }
    if (server_status == -1)
        waitpid(server, &server_status, 0);
    end_guard();
    if (checking)
        return check_report(command[0]);
    say_unheard(command[0]);
    if (!good)
        return UNAVAILABLE;
    return WIFEXITED(server_status) ? WEXITSTATUS(server_status) : 128 + WTERMSIG(server_status);
}

int main(int argc, char **argv) {
    int at = 1;
    for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
        if (strcmp(argv[at], "--help") == 0)
            return usage(NULL);
        if (strncmp(argv[at], "--", 2) != 0)
            return stray(argv[at], argv[at - 1]);
        if (flag(argv[at]))
            continue;
        if (!has_value(argv[at]))
            return usage_of("there is no option", argv[at]);
        if (at + 1 == argc || *argv[at + 1] == '\0' || strncmp(argv[at + 1], "--", 2) == 0)
            return usage_of(argv[at], "has no value");
        const char *wrong = option_of(argv[at], argv[at + 1]);
        if (wrong != NULL)
            return usage(wrong);
        at++;
    }
    const char *wrong = contradiction(at + 1 < argc);
    if (wrong != NULL)
        return usage(wrong);
    signal(SIGCHLD, SIG_DFL);
    if (asking)
        return ask(metrics ? "metrics" : "status");
    if (changing)
        return change();
    const char *missing = by_preload ? NULL : trap_missing();
    if (missing != NULL) {
        say("%s", missing);
        return UNAVAILABLE;
    }
    int refused = filter_count > 0 ? judge() : 0;
    if (refused == 0 &&
        (refuse_inherited() || refuse_state() || (by_preload && refuse_library(argv[at + 1]))))
        refused = UNAVAILABLE;
    return refused != 0 ? refused : serve(argv + at + 1);
}
