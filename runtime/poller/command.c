/* command.c: the lines of a script: what clients do, and what becomes of them.
 *
 * Called by script.c. State: the line being read. Must not know sessions. */
#include "command.h"
#include "../platform/platform.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *command_line;
static size_t command_size;
unsigned nest__command_number;

static int command_hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Decodes "..." in place; NULL, or where it ends. */
static char *command_string(char *p, struct nest__command *command) {
    char *to = p;
    command->bytes = (uint8_t *)p;
    if (*p++ != '"') {
        return NULL;
    }
    while (*p != '"') {
        char c = *p++;
        if (c == '\0' || c == '\n') {
            return NULL;
        }
        if (c == '\\') {
            int high, low;
            switch (c = *p++) {
            case 'r':
                c = '\r';
                break;
            case 'n':
                c = '\n';
                break;
            case 't':
                c = '\t';
                break;
            case '\\':
            case '"':
                break;
            case 'x':
                high = command_hex(p[0]);
                low = high < 0 ? -1 : command_hex(p[1]);
                if (low < 0) {
                    return NULL;
                }
                c = (char)(high << 4 | low);
                p += 2;
                break;
            default:
                return NULL;
            }
        }
        *to++ = c;
    }
    command->n = (size_t)(to - (char *)command->bytes);
    return p + 1;
}

/* Whether the next word is this one; then it is skipped. */
static bool command_word(char **p, const char *word) {
    size_t n = strlen(word);
    char *at = *p + strspn(*p, " \t");
    if (strncmp(at, word, n) != 0 || strcspn(at, " \t\r\n") != n) {
        return false;
    }
    *p = at + n;
    return true;
}

/* A decimal number after blanks; NULL, or where it ends. */
static char *command_count(char *p, uint64_t *value) {
    p += strspn(p, " \t");
    if (*p < '0' || *p > '9') {
        return NULL;
    }
    for (*value = 0; *p >= '0' && *p <= '9'; p++) {
        if (*value > UINT64_MAX / 10 - 1) {
            return NULL;
        }
        *value = *value * 10 + (uint64_t)(*p - '0');
    }
    return p;
}

static struct nest__command command_wrong(const char *why) {
    return (struct nest__command){.verb = NEST__COMMAND_WRONG, .why = why};
}

/* A number from `least` to 2^30 after blanks; NULL, or where it ends. */
static char *command_number(char *p, uint32_t least, uint32_t *value) {
    uint64_t number = 0;
    p = command_count(p, &number);
    if (p == NULL || number < least || number > 1u << 30) {
        return NULL;
    }
    *value = (uint32_t)number;
    return p;
}

/* The next word, if it is one of these errors; then it is skipped. Else 0. */
static int command_error(char **p, const char *of) {
    static const struct {
        const char *name;
        int error;
    } errors[] = {{"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EACCES", EACCES}, {"EMFILE", EMFILE},
                  {"ENOMEM", ENOMEM}, {"EDQUOT", EDQUOT}, {"ENFILE", ENFILE}, {"ENOBUFS", ENOBUFS}};
    for (unsigned i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (strstr(of, errors[i].name) != NULL && command_word(p, errors[i].name)) {
            return errors[i].error;
        }
    }
    return 0;
}

/* What stands behind `fail`; NULL, or where it ends. */
static char *command_fault(char *p, struct nest__command *command) {
    command->fault = command_word(&p, "memory")   ? NEST__FAULT_MEMORY
                     : command_word(&p, "scarce") ? NEST__FAULT_SCARCE
                     : command_word(&p, "stack")  ? NEST__FAULT_STACK
                     : command_word(&p, "watch")  ? NEST__FAULT_WATCH
                                                  : NEST__FAULT_FILE;
    if (command->fault == NEST__FAULT_FILE) {
        if (!command_word(&p, "file")) {
            return NULL;
        }
        command->error = command_error(&p, "EIO ENOSPC EACCES EMFILE ENOMEM EDQUOT");
        if (command->error == 0) {
            return NULL;
        }
    }
    return command_number(p, 1, &command->number);
}

/* What stands behind `complete`; NULL, or where it ends. */
static char *command_complete(char *p, struct nest__command *command) {
    command->complete = command_word(&p, "now")     ? NEST__COMPLETE_NOW
                        : command_word(&p, "later") ? NEST__COMPLETE_LATER
                                                    : NEST__COMPLETE_ONE;
    if (command->complete == NEST__COMPLETE_ONE) {
        command->room = UINT64_MAX;
        p = command_number(p, 0, &command->number);
        if (p != NULL && p[strspn(p, " \t\r\n")] != '\0') {
            p = command_count(p, &command->room);
        }
    }
    return p;
}

struct nest__command nest__command_read(void) {
    static const char *const verbs[] = {"open",  "in",    "eof",     "reset",   "mail", "room",
                                        "drain", "pass",  "clients", "helpers", "fail", "reload",
                                        "disk",  "short", "linger",  "complete"};
    struct nest__command command = {.verb = NEST__COMMAND_NOTHING};
    uint64_t who = 0;
    if (getline(&command_line, &command_size, stdin) == -1) {
        (free)(command_line);
        command_line = NULL;
        command.verb = NEST__COMMAND_END;
        return command;
    }
    nest__command_number++;
    char *p = command_line + strspn(command_line, " \t\r\n");
    if (*p == '\0' || *p == '#') {
        return command;
    }
    size_t n = strcspn(p, " \t\r\n");
    for (unsigned i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strlen(verbs[i]) == n && memcmp(verbs[i], p, n) == 0) {
            command.verb = (enum nest__verb)i;
        }
    }
    if (command.verb == NEST__COMMAND_NOTHING) {
        return command_wrong(
            "unknown command; open, in, eof, reset, mail, room, drain, pass, clients, "
            "helpers, fail, reload, disk, short, linger and complete exist");
    }
    p += n;
    if (command.verb <= NEST__COMMAND_ROOM) {
        p = command_count(p, &who);
        if (p == NULL || who == 0 || who > UINT32_MAX) {
            return command_wrong("the number of a conversation must follow, from 1");
        }
        command.who = (uint32_t)who;
    }
    p += strspn(p, " \t");
    bool bytes = command.verb == NEST__COMMAND_IN || command.verb == NEST__COMMAND_MAIL;
    if (bytes && (p = command_string(p, &command)) == NULL) {
        return command_wrong("a string must follow: \"...\" with \\r \\n \\t \\\\ \\\" \\xHH");
    }
    if (command.verb == NEST__COMMAND_ROOM) {
        command.room = UINT64_MAX;
        p = *p == '-' ? p + 1 : command_count(p, &command.room);
        if (p == NULL) {
            return command_wrong("a count of bytes must follow, or - for no limit");
        }
    }
    if (command.verb == NEST__COMMAND_PASS || command.verb == NEST__COMMAND_CLIENTS) {
        p = command_number(p, command.verb == NEST__COMMAND_CLIENTS, &command.number);
        if (p == NULL) {
            return command_wrong("a number must follow: pass MS, clients N");
        }
    }
    if (command.verb == NEST__COMMAND_HELPERS) {
        command.number = NEST__NO_HELPERS;
        p = command_word(&p, "none") ? p : command_number(p, 0, &command.number);
        if (p == NULL) {
            return command_wrong("ms must follow, that every piece of work takes, or none");
        }
    }
    if (command.verb == NEST__COMMAND_DISK) {
        command.cold = command_word(&p, "cold");
        if (!command.cold && !command_word(&p, "warm")) {
            return command_wrong("cold or warm must follow");
        }
    }
    if (command.verb == NEST__COMMAND_SHORT) {
        command.error = command_error(&p, "EMFILE ENFILE ENOMEM ENOBUFS");
        if (command.error == 0 && !command_word(&p, "none")) {
            return command_wrong("EMFILE, ENFILE, ENOMEM, ENOBUFS or none must follow");
        }
    }
    if (command.verb == NEST__COMMAND_LINGER) {
        command.cold = command_word(&p, "on");
        if (!command.cold && !command_word(&p, "off")) {
            return command_wrong("on or off must follow");
        }
    }
    if (command.verb == NEST__COMMAND_COMPLETE && (p = command_complete(p, &command)) == NULL) {
        return command_wrong("now, later, or the number of an operation must follow, from 0, and "
                             "perhaps a count of bytes");
    }
    if (command.verb == NEST__COMMAND_FAIL && (p = command_fault(p, &command)) == NULL) {
        return command_wrong("memory N, scarce N, stack N, watch N or file ERROR N must follow; "
                             "ERROR: EIO ENOSPC EACCES EMFILE ENOMEM EDQUOT");
    }
    return p[strspn(p, " \t\r\n")] == '\0' ? command
                                           : command_wrong("nothing more may follow on this line");
}

static int command_print(uint32_t who, const char *what, const uint8_t *bytes, size_t n) {
    size_t size = NEST__ESCAPED * n + 64;
    char *text = (malloc)(size); /* no fault of the script's own */
    if (text == NULL) {
        return -ENOMEM;
    }
    struct nest__line line = {text, 0, size};
    nest__line_number(&line, who);
    nest__line_char(&line, ' ');
    nest__line_add(&line, what);
    if (bytes != NULL) {
        nest__line_char(&line, ' ');
        nest__line_quote(&line, bytes, n);
    }
    nest__line_char(&line, '\n');
    nest__write(1, line.p, line.n);
    (free)(text);
    return 0;
}

int nest__command_out(uint32_t who, const uint8_t *bytes, size_t n) {
    return command_print(who, "out", bytes, n);
}

int nest__command_closed(uint32_t who, bool cut) {
    return command_print(who, cut ? "cut" : "closed", NULL, 0);
}
