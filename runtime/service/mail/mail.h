/* mail.h: messages from other workers are handed to the sessions that they are for, between their
 * actions.
 *
 * The services that are called at the join point `mail` say what a message does. loop.c: for
 * sessions of a loop. blocking.c: for the one session of a worker that blocks. */
#ifndef NEST_SERVICE_MAIL_H
#define NEST_SERVICE_MAIL_H

#include "../../seam.h"

enum {
    NEST__MAIL_HELD = 16 * 1024 /* bytes that wait for one session's action to end, at most */
};

int nest__mail_start(void);
/* The descriptor that tells a worker of mail. */
int nest__mail_mailbox(void);
/* Hands one message over. True: there may be more; *s is the session that got it, which is to be
 * told NEST__EVENT_MAIL, or NULL. False: there is none, and the descriptor will tell of the next.
 */
bool nest__mail_letter(nest_session **s);
void nest__mail_end(nest_session *);

void nest__mail_nudge(uint32_t worker); /* blocking.c */
/* Scripts: a message of kind 0. 0 or -errno. */
int nest__mail_post(nest__ref to, const uint8_t *bytes, uint32_t n);
struct nest__need nest__mail_need(void);
void nest__mail_open(nest_session *);
void nest__mail_acted(nest_session *, uint64_t taken);

#endif
