/* send.h: $send: messages from one connection to another.
 *
 * loop.c and blocking.c pass them on. Other services send by the same functions, so that messages
 * of one sender stay in order. */
#ifndef NEST_SERVICE_SEND_H
#define NEST_SERVICE_SEND_H

#include "../../seam.h"

enum { NEST__SEND_MOST = 16 * 1024 /* bytes of a message */ };
/* What a message of the mailbox is: services that send add theirs. */
enum nest__send_kind {
    NEST__SEND_SCRIPT, /* a command of a script: text for the client */
    NEST__SEND_TEXT,   /* text for the client */
    NEST__SEND_GROUP,  /* to a loop: text for the members of a group */
    NEST__SEND_STORED  /* to a worker that blocks: where the text of a group's message is */
};

/* -- send.c */
/* Text that was composed on this thread, until the next call. */
struct nest__send_text {
    const uint8_t *p;
    uint32_t n;
};
/* Composes a message. 0, or -1 and errno: EMSGSIZE. */
int nest__send_list(struct nest__send_text *, size_t count, const nest_bytes items[]);
int nest__send_format(struct nest__send_text *, const char *format, va_list) NEST_FORMAT(2, 0);
/* Queues text from another connection for the client. */
void nest__send_deliver(nest_session *, const uint8_t *bytes, uint32_t n);

/* -- loop.c, blocking.c: passes text to a session of the worker `serial`. 0 or -errno. */
int nest__send_pass(uint16_t serial, nest__ref, const struct nest__send_text *);

/* -- join points */
void nest__send_mail(nest_session *, uint32_t kind, const uint8_t *bytes, uint32_t n);

#endif
