/* mailbox.h: messages from one worker to a session of another one, or of its own.
 *
 * A message is for one session, by the name that its connection's number has: what comes late for
 * an old session is dropped. A mailbox is bounded. When it is full the sender is told so, and what
 * becomes of the message is the sender's business. Workers may die at any instruction, and may
 * write over what they share: nobody waits for them, and what they send is checked.
 *
 * mailbox_script.c: for scripts. mailbox_rings.c: for workers that are loops. mailbox_sockets.c:
 * for workers that block, of which each has one session, and which poll the descriptor beside their
 * connection's. */
#ifndef NEST_WORKERS_MAILBOX_H
#define NEST_WORKERS_MAILBOX_H

#include "../seam.h"

enum {
    NEST__MAIL_MOST = 4096,  /* bytes of a message */
    NEST__MAIL_DROPS = 1024, /* stale messages that one call drops of a sender, at most */
};

struct nest__mail {
    nest__ref to;
    uint32_t kind; /* what it says is the receiver's business */
    uint32_t n;
    uint8_t bytes[NEST__MAIL_MOST];
};

/* -- the worker model supplies: whether this is a session of the calling worker, and not yet
 * ended. The name may be any garbage. */
bool nest__mail_alive(nest__ref);

/* -- before any worker is forked, or thread made. 0, or -errno. */
int nest__mailbox_prepare(uint32_t workers);
uint32_t nest__mailbox_descriptors(uint32_t workers); /* that they take of a process */
/* -- in each worker, on its thread, before any other call. Messages to a dead worker whose number
 * it has are dropped. */
void nest__mailbox_begin(uint32_t worker);

/* Sends `n` bytes to a session of the worker process `serial`; does not wait. 0; -EAGAIN: the
 * mailbox is full; -EMSGSIZE: n exceeds NEST__MAIL_MOST; -ESRCH: there is no such worker. 0 does
 * not say that the session is there to get it. Rings: one thread of a process sends. */
int nest__mail_send(uint16_t serial, nest__ref to, uint32_t kind, const void *bytes, uint32_t n);
/* The next message for a session that is there. False: there is none, or stale ones are left to be
 * dropped. One thread takes. */
bool nest__mailbox_take(struct nest__mail *);
/* Before the worker waits: true: it may, and the descriptor becomes readable when mail comes.
 * False: some has come already. */
bool nest__mailbox_sleep(void);
/* Sockets: makes the descriptor of a worker readable, without a message. Async-signal-safe. */
void nest__mailbox_nudge(uint32_t worker);
int nest__mailbox_fd(void);

#endif
