/* print.c: a drawn command as a script has it, so that a failure can be replayed.
 *
 * Called by draw.c. No state. */
#include "simulate.h"

#include <errno.h>
#include <stdio.h>

void print_command(const struct nest__command *command) {
    static const char *const verbs[] = {"open",  "in",    "eof",     "reset",   "mail", "room",
                                        "drain", "pass",  "clients", "helpers", "fail", "reload",
                                        "disk",  "short", "linger",  "complete"};
    if (command->verb == NEST__COMMAND_END || command->verb == NEST__COMMAND_NOTHING) {
        return;
    }
    fputs(verbs[command->verb], stdout);
    if (command->verb <= NEST__COMMAND_ROOM) {
        printf(" %u", (unsigned)command->who);
    }
    if (command->verb == NEST__COMMAND_ROOM) {
        command->room == UINT64_MAX ? (void)printf(" -")
                                    : (void)printf(" %llu", (unsigned long long)command->room);
    }
    if (command->verb == NEST__COMMAND_IN) {
        fputs(" \"", stdout);
        for (size_t i = 0; i < command->n; i++) {
            uint8_t c = command->bytes[i];
            bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
            c == '\n'   ? (void)fputs("\\n", stdout)
            : c == '\r' ? (void)fputs("\\r", stdout)
            : plain     ? (void)putchar(c)
                        : (void)printf("\\x%02x", c);
        }
        putchar('"');
    }
    if (command->verb == NEST__COMMAND_LINGER) {
        fputs(command->cold ? " on" : " off", stdout);
    }
    if (command->verb == NEST__COMMAND_COMPLETE && command->complete == NEST__COMPLETE_LATER) {
        fputs(" later", stdout);
    } else if (command->verb == NEST__COMMAND_COMPLETE) {
        printf(" %u", (unsigned)command->number);
        if (command->room != UINT64_MAX) {
            printf(" %llu", (unsigned long long)command->room);
        }
    }
    if (command->verb == NEST__COMMAND_DISK) {
        fputs(command->cold ? " cold" : " warm", stdout);
    }
    if (command->verb == NEST__COMMAND_SHORT) {
        printf(" %s", command->error == 0        ? "none"
                      : command->error == EMFILE ? "EMFILE"
                      : command->error == ENFILE ? "ENFILE"
                      : command->error == ENOMEM ? "ENOMEM"
                                                 : "ENOBUFS");
    }
    if (command->verb == NEST__COMMAND_FAIL) {
        static const char *const faults[] = {"memory", "stack", "file", "scarce", "watch"};
        printf(" %s%s", faults[command->fault],
               command->fault != NEST__FAULT_FILE ? ""
               : command->error == EIO            ? " EIO"
                                                  : " ENOSPC");
    }
    if (command->verb == NEST__COMMAND_HELPERS && command->number == NEST__NO_HELPERS) {
        printf(" none");
    } else if (command->verb > NEST__COMMAND_DRAIN && command->verb < NEST__COMMAND_RELOAD) {
        printf(" %u", (unsigned)command->number);
    }
    putchar('\n');
    fflush(stdout);
}
