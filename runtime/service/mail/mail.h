/* mail.h: messages from other workers are handed to the sessions that they are for, between their
 * actions.
 *
 * The services that are called at the join point `mail` say what a message does. loop.c: for
 * sessions of a loop. blocking.c: for the one session of a worker that blocks.
 *
 * Mail of a session whose action runs, or whose output has not left yet, waits. At most
 * outputBuffer bytes wait, records included; for a worker that blocks, also at most as many as its
 * socket holds. A session that has more is behind: if NEST__LOSSY is 1 it loses the oldest message;
 * otherwise all that waits is dropped, and its connection ends. */
#ifndef NEST_SERVICE_MAIL_H
#define NEST_SERVICE_MAIL_H

#include "../../seam.h"

/* The session is behind. Its connection ends like that of a client that does not read. */
static inline void nest__mail_behind(nest_session *s) {
    s->flags |= NEST__EXPIRED;
    s->c0.state |= NEST__CHAN_CUT;
}

int nest__mail_start(void);
/* In a process of a server with sockets: from here on its code can send. */
int nest__mail_serve(void);
/* The descriptor that tells a worker of mail. */
int nest__mail_mailbox(void);
/* Hands one message over. True: there may be more; *s is the session that got it, which is to be
 * told NEST__EVENT_MAIL, or NULL. False: there is none, and the descriptor will tell of the next.
 */
bool nest__mail_letter(nest_session **s);
void nest__mail_end(nest_session *);

/* -- loop.c: mail between sessions of the same loop, which needs no mailbox */
/* The bytes of a message, which several sessions may be about to get. It begins with one
 * reference. NULL: no memory. */
struct nest__mail_body *nest__mail_body(const void *bytes, uint32_t n);
void nest__mail_body_leave(struct nest__mail_body *); /* one reference less; NULL: nothing */
/* The message waits for this session, which has not ended, until it can be handed over. NULL: there
 * was no memory for it. */
void nest__mail_hold(nest_session *, uint32_t kind, struct nest__mail_body *);
/* Takes what other loops have sent until now: what the caller does next is later. */
void nest__mail_gather(void);

/* -- blocking.c */
enum { NEST__MAIL_RECORD = 24 /* bytes that a message counts beside its own */ };
/* As nest__mail_send; but if too much waits for the receiver, the receiver is behind. */
int nest__mail_press(uint16_t serial, nest__ref, uint32_t kind, const void *bytes, uint32_t n);
void nest__mail_nudge(uint32_t worker);

/* Scripts: a message of kind 0. 0 or -errno. */
int nest__mail_post(nest__ref to, const uint8_t *bytes, uint32_t n);
struct nest__need nest__mail_need(void);
void nest__mail_open(nest_session *);
void nest__mail_drained(nest_session *);
void nest__mail_acted(nest_session *, uint64_t taken);

#endif
