/* command.h: a script's commands, as script.c gets them from command.c. */
#ifndef NEST_COMMAND_H
#define NEST_COMMAND_H

#include "../seam.h"

enum nest__verb {
    NEST__COMMAND_OPEN,
    NEST__COMMAND_IN,
    NEST__COMMAND_EOF,
    NEST__COMMAND_RESET,
    NEST__COMMAND_ROOM,
    NEST__COMMAND_DRAIN,
    NEST__COMMAND_NOTHING, /* an empty line, a comment */
    NEST__COMMAND_WRONG,
    NEST__COMMAND_END
};
struct nest__command {
    enum nest__verb verb;
    uint32_t who;   /* from 1 */
    uint8_t *bytes; /* in: until the next command is read */
    size_t n;
    uint64_t room;   /* UINT64_MAX: unlimited */
    const char *why; /* WRONG */
};

extern unsigned nest__command_number;          /* lines read */
struct nest__command nest__command_read(void); /* the next of stdin */
/* Writes bytes down as a script has them, behind `to`, which has room for 4 characters a byte and 2
 * more; where the text ends. */
char *nest__command_quote(char *to, const uint8_t *bytes, size_t n);

#endif
