/* main.c: from the arguments to the exit status.
 *
 * The last part of server.c but the tables. State: none of its own. Must not know the model: it
 * asks the workers. */
#include "config/config.h"
#include "workers/supervisor.h"
#include "platform/platform.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAIN_FAILED = 1, MAIN_USAGE = 2, MAIN_UNAVAILABLE = 69 }; /* EX_UNAVAILABLE of sysexits.h */

struct nest__config nest__config;

/* Those that this server is built for. */
static void main_words(const struct nest__option *option) {
    const char *word = option->words;
    for (uint32_t i = 0; i <= option->most; i++) {
        size_t n = strcspn(word, "|");
        printf("%s%.*s", i == 0 ? " (" : ", ", (int)n, word);
        word += n + 1;
    }
    printf(")");
}

static void main_range(const struct nest__option *option) {
    char least[32], most[32];
    if (option->kind == NEST__NUMBER) {
        printf(" (%u to %u)", (unsigned)option->least, (unsigned)option->most);
    } else if (option->kind == NEST__COUNT) {
        printf(" (%u to %u, or auto)", (unsigned)option->least, (unsigned)option->most);
    } else if (option->kind == NEST__SIZE) {
        nest__size_text(option->least, least);
        nest__size_text(option->most, most);
        printf(" (%s to %s)", least, most);
    } else if (option->kind == NEST__DURATION) {
        nest__duration_text(option->least, least);
        nest__duration_text(option->most, most);
        printf(" (%s to %s, or none)", least, most);
    } else if (option->kind == NEST__WORD) {
        main_words(option);
    }
}

/* What a client needs in the engine, in services, and in the worker that serves it. */
static unsigned main_needs(struct nest__need needs[3 * NEST__NEEDS]) {
    unsigned all = nest__session_needs(needs), n = 0;
    all += nest__worker_needs(needs + all);
    for (unsigned i = 0; i < all; i++) {
        if (needs[i].most > 0) {
            needs[n++] = needs[i];
        }
    }
    return n;
}

/* Of all clients, and of the server; `most`: whatever their actions do. */
static uint64_t main_memory(bool most) {
    struct nest__need needs[3 * NEST__NEEDS];
    uint64_t each = 0; /* then of all */
    for (unsigned i = main_needs(needs); i-- > 0;) {
        each += most ? needs[i].most : needs[i].alone;
    }
    each *= nest__config.max_clients;
    for (unsigned i = nest__on_common(needs); i-- > 0;) {
        each += most ? needs[i].most : needs[i].alone;
    }
    return each;
}

static void main_help(void) {
    static const char *const kinds[] = {"N",           "N|auto",   "SIZE", "TEXT",
                                        "ADDRESS ...", "DURATION", "WORD", "LOG"};
    printf(
        "%s: %s server, generated from %s by %s\n\n"
        "usage: %s [--port N] [--set NAME=VALUE] [--config FILE] [--check-config] [-- ARGUMENTS]\n"
        "\n"
        "  --port N           the same as --set serverPort=N\n"
        "  --set NAME=VALUE   sets an option; repeatable\n"
        "  --config FILE      reads FILE instead of config.nest in the working directory\n"
        "  --check-config     checks and prints the effective settings and their sources\n"
        "  --help, --version\n"
        "  -- ARGUMENTS       passes ARGUMENTS to the server's own start-up code\n\n"
        "Settings come from four sources, of which later ones override earlier ones: the\n"
        "specification; config.nest, with a line 'NAME VALUE' for each; the environment, as\n"
        "NEST_NAME in capitals; the arguments.\n"
        "SIZE is a number of bytes, or a number with K, M or G. DURATION is a number with ms, s,\n"
        "m or h, or none. LOG is stderr, syslog, journal, or a path with a slash.\n\n"
        "  TERM, INT  stops accepting clients and lets the present ones finish; cuts off those\n"
        "             that are left after drainTimeout, or at a second signal\n"
        "  HUP        reads the settings again; options marked + change in the running server\n\n"
        "exit status: 0 stopped, and no client was cut off; 1 clients were cut off, or the server\n"
        "could not start; 2 wrong arguments or settings; 69 the system lacks what the server's\n"
        "model needs\n\n",
        nest__spec_name, nest__model_name, nest__spec_file, nest__tool_version, nest__spec_name);
    for (unsigned i = 0; i < nest__option_count; i++) {
        const struct nest__option *option = &nest__options[i];
        const char *initial = option->initial != NULL ? option->initial : "";
        printf("%c %s %s\n      %s", option->reload ? '+' : ' ', option->name, kinds[option->kind],
               option->help);
        main_range(option);
        printf("%s%s\n", initial[0] != '\0' ? "; default: " : "", initial);
    }
}

static void main_notify(const char *ready) {
    char state[512];
    struct nest__line line = {state, 0, sizeof state - 1};
    nest__line_add(&line, "READY=1\nSTATUS=");
    ready += strlen(nest__spec_name) + 2;
    while (*ready != '\n') {
        nest__line_char(&line, *ready++);
    }
    state[line.n] = '\0';
    nest__notify(state);
}

/* One line, once clients can connect: tools wait for it. */
static void main_ready(void) {
    char text[NEST__LISTEN_MAX * sizeof nest__listeners[0].name + 512], in[32], out[32], memory[32];
    struct nest__line line = {text, 0, sizeof text - 1};
    nest__size_text(nest__config.input_buffer, in);
    nest__size_text(nest__config.output_buffer, out);
    nest__memory_text(main_memory(true), memory);
    nest__line_add(&line, nest__spec_name);
    nest__line_add(&line, ": ");
    nest__line_add(&line, nest__model_name);
    nest__line_add(&line, " server, listening on ");
    for (unsigned i = 0; i < nest__listener_count; i++) {
        nest__line_add(&line, i > 0 ? ", " : "");
        nest__line_add(&line, nest__listeners[i].name);
    }
    nest__line_add(&line, ", at most ");
    nest__line_number(&line, nest__config.max_clients);
    nest__line_add(&line, nest__config.max_clients == 1 ? " client, " : " clients, ");
    nest__line_add(&line, in);
    nest__line_add(&line, " input, ");
    nest__line_add(&line, out);
    nest__line_add(&line, " output, ");
    nest__line_add(&line, memory);
    nest__line_add(&line, " memory");
    text[line.n] = '\n';
    nest__tell(STDOUT_FILENO, text, line.n + 1);
    main_notify(text);
}

/* One line at the end: how many clients there were, how they ended, and how many a stop cut. */
static void main_stopped(void) {
    char text[512];
    struct nest__line line = {text, 0, sizeof text - 1};
    uint64_t all = 0;
    for (int reason = 0; reason < NEST_REASONS; reason++) {
        all += nest__ended[reason];
    }
    nest__line_add(&line, nest__spec_name);
    nest__line_add(&line, ": stopped after ");
    nest__line_number(&line, all);
    nest__line_add(&line, all == 1 ? " client" : " clients");
    for (int reason = 0, shown = 0; reason < NEST_REASONS; reason++) {
        if (nest__ended[reason] > 0) {
            nest__line_add(&line, shown++ == 0 ? ": " : ", ");
            nest__line_number(&line, nest__ended[reason]);
            nest__line_char(&line, ' ');
            nest__line_add(&line, nest__reason_word((enum nest_reason)reason));
        }
    }
    if (nest__cut() > 0) {
        nest__line_add(&line, "; ");
        nest__line_number(&line, nest__cut());
        nest__line_add(&line, " cut");
    }
    text[line.n] = '\n';
    nest__tell(STDOUT_FILENO, text, line.n + 1);
}

static void main_check(void) {
    char memory[32];
    nest__config_print();
    nest__memory_text(main_memory(true), memory);
    printf("# %u clients need at most %s of memory, without what actions allocate\n",
           (unsigned)nest__config.max_clients, memory);
    struct nest__need needs[3 * NEST__NEEDS];
    unsigned n = main_needs(needs);
    printf("# in bytes, for each client:\n"); /* nest check --bounds reads these */
    for (unsigned i = 0; i < n; i++) {
        const char *option = needs[i].option;
        printf("#   %llu %s%s%s%s\n", (unsigned long long)needs[i].most, needs[i].what,
               option != NULL ? " (" : "", option != NULL ? option : "", option != NULL ? ")" : "");
    }
    if ((n = nest__on_common(needs)) > 0) {
        printf("# in bytes, for all clients together:\n");
    }
    for (unsigned i = 0; i < n; i++) {
        printf("#   %llu %s\n", (unsigned long long)needs[i].most, needs[i].what);
    }
}

/* What start-up code is given: the program's name, and what stood behind `--`. */
static int main_startup(int argc, char **argv) {
    if (argc > 1) {
        int at = 1;
        while (at < argc - 1 && strcmp(argv[at], "--") != 0) {
            at++;
        }
        argv[at] = argv[0]; /* in place of `--`, or of the last argument if there is none */
        argv += at;
        argc -= at;
    }
    return nest__spec_startup(argc, argv);
}

int main(int argc, char **argv) {
    enum nest__request request;
    int error = nest__stdio_secure();
    if (error != 0) {
        nest__say("cannot start: %s", strerror(-error));
        return MAIN_FAILED;
    }
    nest__on_begin();
    if (nest__config_read(argc, argv, &request) != 0) {
        return MAIN_USAGE;
    }
    if (request == NEST__HELP) {
        main_help();
        return EXIT_SUCCESS;
    }
    if (request == NEST__VERSION) {
        printf("%s, %s server, generated from %s by %s\n", nest__spec_name, nest__model_name,
               nest__spec_file, nest__tool_version);
        return EXIT_SUCCESS;
    }
    if (request == NEST__CHECK) {
        main_check();
        fflush(NULL);
        return nest__on_check() != 0 ? MAIN_FAILED : EXIT_SUCCESS;
    }
    if (nest__on_check() != 0 || nest__on_prepare() != 0) {
        return MAIN_FAILED;
    }
    int status = main_startup(argc, argv);
    if (status >= 0) {
        return status;
    }
    if (nest__memory_budget(main_memory(false), main_memory(true), nest__worker_processes()) != 0 ||
        nest__on_start() != 0) {
        return MAIN_FAILED;
    }
    error = nest__workers_prepare();
    if (error != 0 || nest__listen_open() != 0) {
        return error == -EOPNOTSUPP ? MAIN_UNAVAILABLE : MAIN_FAILED;
    }
    fflush(NULL); /* before workers inherit what start-up code left in its buffers */
    bool sockets = nest__listener_count > 0;
    if (sockets) {
        main_ready();
    }
    status = nest__workers_run();
    nest__listen_close();
    if (status != NEST__ABANDONED) {
        nest__on_close();
    }
    if (sockets) {
        main_stopped();
    }
    if (status == NEST__ABANDONED || nest__supervises()) {
        _exit(status == NEST__ABANDONED ? MAIN_FAILED : status);
    }
    return status;
}
