/* command.c: the lines of a script: what clients do, and how bytes are written down.
 *
 * Called by script.c. State: the line being read. Must not know sessions. */
#include "command.h"

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

struct nest__command nest__command_read(void) {
    static const char *const verbs[] = {"open", "in", "eof", "reset", "room", "drain"};
    struct nest__command command = {.verb = NEST__COMMAND_NOTHING};
    uint64_t who = 0;
    if (getline(&command_line, &command_size, stdin) == -1) {
        free(command_line);
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
        return command_wrong("unknown command; open, in, eof, reset, room and drain exist");
    }
    p += n;
    if (command.verb != NEST__COMMAND_DRAIN) {
        p = command_count(p, &who);
        if (p == NULL || who == 0 || who > UINT32_MAX) {
            return command_wrong("the number of a conversation must follow, from 1");
        }
        command.who = (uint32_t)who;
    }
    p += strspn(p, " \t");
    if (command.verb == NEST__COMMAND_IN && (p = command_string(p, &command)) == NULL) {
        return command_wrong("a string must follow: \"...\" with \\r \\n \\t \\\\ \\\" \\xHH");
    }
    if (command.verb == NEST__COMMAND_ROOM) {
        command.room = UINT64_MAX;
        p = *p == '-' ? p + 1 : command_count(p, &command.room);
        if (p == NULL) {
            return command_wrong("a count of bytes must follow, or - for no limit");
        }
    }
    return p[strspn(p, " \t\r\n")] == '\0' ? command
                                           : command_wrong("nothing more may follow on this line");
}

/* Writes bytes down as a script has them, behind `to`, which has room for 4 characters a byte;
 * where the text ends. */
char *nest__command_quote(char *to, const uint8_t *bytes, size_t n) {
    *to++ = '"';
    for (size_t i = 0; i < n; i++) {
        uint8_t c = bytes[i];
        const char *plain = c == '\r'   ? "\\r"
                            : c == '\n' ? "\\n"
                            : c == '\t' ? "\\t"
                            : c == '\\' ? "\\\\"
                            : c == '"'  ? "\\\""
                                        : NULL;
        if (plain != NULL) {
            *to++ = plain[0];
            *to++ = plain[1];
        } else if (c >= ' ' && c < 127) {
            *to++ = (char)c;
        } else {
            *to++ = '\\';
            *to++ = 'x';
            *to++ = "0123456789abcdef"[c >> 4];
            *to++ = "0123456789abcdef"[c & 15];
        }
    }
    *to++ = '"';
    return to;
}
