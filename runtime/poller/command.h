/* command.h: a script's commands and what is said about its conversations, between script.c and
 * command.c. A simulation supplies these in place of command.c. */
#ifndef NEST_COMMAND_H
#define NEST_COMMAND_H

#include "../seam.h"

enum nest__verb {
    NEST__COMMAND_OPEN,
    NEST__COMMAND_IN,
    NEST__COMMAND_EOF,
    NEST__COMMAND_RESET,
    NEST__COMMAND_MAIL,
    NEST__COMMAND_ROOM, /* the last that is about one conversation */
    NEST__COMMAND_DRAIN,
    NEST__COMMAND_PASS,
    NEST__COMMAND_CLIENTS,
    NEST__COMMAND_HELPERS,
    NEST__COMMAND_FAIL,
    NEST__COMMAND_RELOAD,
    NEST__COMMAND_DISK,
    NEST__COMMAND_SHORT,
    NEST__COMMAND_LINGER,
    NEST__COMMAND_COMPLETE,
    NEST__COMMAND_NOTHING, /* an empty line, a comment */
    NEST__COMMAND_WRONG,
    NEST__COMMAND_END
};
enum nest__fault {
    NEST__FAULT_MEMORY,
    NEST__FAULT_STACK,
    NEST__FAULT_FILE,
    NEST__FAULT_SCARCE,
    NEST__FAULT_WATCH
};
#define NEST__NO_HELPERS UINT32_MAX
enum nest__complete { NEST__COMPLETE_NOW, NEST__COMPLETE_LATER, NEST__COMPLETE_ONE };
struct nest__command {
    enum nest__verb verb;
    uint32_t who;   /* from 1 */
    uint8_t *bytes; /* in, mail: until the next command is read */
    size_t n;
    uint64_t room; /* UINT64_MAX: unlimited */
    /* pass, helpers: ms; clients: how many; fail: which one from now on, or how many */
    uint32_t number;
    bool cold;                    /* disk; linger: on */
    enum nest__complete complete; /* ONE: operation `number`, of at most `room` bytes */
    enum nest__fault fault;
    int error;       /* fail file, short: as this */
    const char *why; /* WRONG */
};

extern unsigned nest__command_number; /* lines read */
/* The next of stdin. Asked for when everything before it is done: no wait is over, nothing due. */
struct nest__command nest__command_read(void);
/* What a conversation's client got: 0, or -ENOMEM: it could not be written down. */
int nest__command_out(uint32_t who, const uint8_t *bytes, size_t n);
/* It is closed; `cut`: reset by the server, something may not have been delivered. */
int nest__command_closed(uint32_t who, bool cut);

#endif
