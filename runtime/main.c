/* main.c: from the arguments to the exit status.
 *
 * The last part of server.c but the tables. State: none of its own. Must not know the model: it
 * asks the crew. */
#include "config/config.h"
#include "listener/listener.h"
#include "platform/platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAIN_FAILED = 1, MAIN_USAGE = 2 };

struct nest__config nest__config;

static void main_range(const struct nest__option *option) {
    char least[32], most[32];
    if (option->kind == NEST__NUMBER) {
        printf(" (%u to %u)", (unsigned)option->least, (unsigned)option->most);
    } else if (option->kind == NEST__SIZE) {
        nest__size_text(option->least, least);
        nest__size_text(option->most, most);
        printf(" (%s to %s)", least, most);
    }
}

static void main_help(void) {
    static const char *const kinds[] = {"N", "SIZE", "TEXT", "ADDRESS ..."};
    printf(
        "%s: %s server, made from %s by %s\n\n"
        "usage: %s [--port N] [--set NAME=VALUE] [--config FILE] [--check-config] [-- ARGUMENTS]\n"
        "\n"
        "  --port N           the same as --set serverPort=N\n"
        "  --set NAME=VALUE   sets an option; repeatable\n"
        "  --config FILE      reads FILE instead of config.nest in the working directory\n"
        "  --check-config     prints the effective settings and where they come from\n"
        "  --help, --version\n"
        "  -- ARGUMENTS       for the server's own start-up code\n\n"
        "options, lowest precedence first: as built, one 'NAME VALUE' a line in config.nest,\n"
        "NEST_NAME in the environment (upper case), the arguments\n\n",
        nest__spec_name, nest__model_name, nest__spec_file, nest__tool_version, nest__spec_name);
    for (unsigned i = 0; i < nest__option_count; i++) {
        const struct nest__option *option = &nest__options[i];
        const char *initial = option->initial != NULL ? option->initial : "";
        printf("  %s %s\n      %s", option->name, kinds[option->kind], option->help);
        main_range(option);
        printf("%s%s\n", initial[0] != '\0' ? "; as built: " : "", initial);
    }
}

/* One line, once clients can connect: tools wait for it. */
static void main_ready(void) {
    char text[NEST__LISTEN_MAX * sizeof nest__listeners[0].name + 512], in[32], out[32];
    struct nest__line line = {text, 0, sizeof text - 1};
    nest__size_text(nest__config.input_buffer, in);
    nest__size_text(nest__config.output_buffer, out);
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
    nest__line_add(&line, " output");
    text[line.n] = '\n';
    nest__tell(STDOUT_FILENO, text, line.n + 1);
}

/* One line at the end: how many clients there were, and how they ended. */
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
    text[line.n] = '\n';
    nest__tell(STDOUT_FILENO, text, line.n + 1);
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
    nest__inetd_begin();
    if (nest__config_read(argc, argv, &request) != 0) {
        return MAIN_USAGE;
    }
    if (request == NEST__HELP) {
        main_help();
        return EXIT_SUCCESS;
    }
    if (request == NEST__VERSION) {
        printf("%s, %s server, made from %s by %s\n", nest__spec_name, nest__model_name,
               nest__spec_file, nest__tool_version);
        return EXIT_SUCCESS;
    }
    if (request == NEST__CHECK) {
        nest__config_print();
        return EXIT_SUCCESS;
    }
    if (nest__systemd_begin() != 0 || nest__inetd_take() != 0) {
        return MAIN_FAILED;
    }
    int status = main_startup(argc, argv);
    if (status >= 0) {
        return status;
    }
    if (nest__files_open() != 0 || nest__crew_prepare() != 0 || nest__listen_open() != 0) {
        return MAIN_FAILED;
    }
    fflush(NULL); /* before carriers inherit what start-up code left in its buffers */
    bool sockets = nest__listener_count > 0;
    if (sockets) {
        main_ready();
    }
    status = nest__crew_run();
    nest__listen_close();
    if (sockets) {
        main_stopped();
    }
    if (status == NEST__ABANDONED) {
        _exit(MAIN_FAILED);
    }
    return status;
}
