/* mailbox.h: messages from one worker to a session of another one, or of its own.
 *
 * A message names one session by slot and generation. A message for a session that has ended is
 * dropped. A message for a loop as a whole has the slot NEST__NO_NUMBER. A mailbox is bounded:
 * sending to a full one fails, and the sender decides what to do with the message. A worker may die
 * at any instruction and may overwrite memory that it shares, so no worker waits for another, and
 * received messages are checked. One process more sends without being a worker: the service
 * process, in which the code of %timer and %signal runs. Nobody sends to it.
 *
 * mailbox_script.c is for scripts, mailbox_rings.c for loops, mailbox_sockets.c for workers that
 * block. A worker that blocks has one session, and polls its mailbox together with its connection.
 */
#ifndef NEST_WORKERS_MAILBOX_H
#define NEST_WORKERS_MAILBOX_H

#include "../seam.h"

enum {
    NEST__MAIL_MOST = 16 * 1024 + 128, /* bytes of a message */
    NEST__MAIL_DROPS = 1024            /* stale messages of one sender that a call drops, at most */
};

struct nest__mail {
    nest__ref to;
    uint32_t kind; /* defined by the services that send and receive it */
    uint32_t n;
    uint8_t bytes[NEST__MAIL_MOST];
};

/* -- the worker model supplies. True: this is a session of the calling worker that has not ended.
 * The reference may have any value. */
bool nest__mail_alive(nest__ref);

/* -- before workers are forked or threads are created. 0 or -errno. */
int nest__mailbox_prepare(uint32_t workers);
uint32_t nest__mailbox_descriptors(uint32_t workers); /* descriptors of each process */
/* -- in each worker, on its thread, before any other call. Drops messages for an earlier worker of
 * this number. The service process has the number behind that of the last worker, and only sends.
 */
void nest__mailbox_begin(uint32_t worker);

/* Sends `n` bytes to a session of the worker process `serial`, without waiting. Returns 0, even if
 * the session has ended; -EAGAIN: the mailbox is full; -EMSGSIZE: n exceeds NEST__MAIL_MOST;
 * -ESRCH: there is no such worker. Rings: only one thread of a process sends. */
int nest__mail_send(uint16_t serial, nest__ref to, uint32_t kind, const void *bytes, uint32_t n);
/* Takes the next message whose session has not ended. False: there is none, or NEST__MAIL_DROPS
 * stale ones were dropped and more follow. Only one thread takes. */
bool nest__mailbox_take(struct nest__mail *);
/* Rings and scripts: this is the calling worker, whose sessions need no mailbox. */
bool nest__mailbox_own(uint16_t serial);
/* Called before the worker waits. True: the descriptor becomes readable when a message comes.
 * False: a message is there already. */
bool nest__mailbox_sleep(void);
/* Sockets: makes the descriptor of a worker readable, without a message. Async-signal-safe. */
void nest__mailbox_nudge(uint32_t worker);
/* Sockets: removes the oldest message of a worker's mailbox. Returns its bytes; -1: there is none.
 */
int64_t nest__mailbox_shift(uint32_t worker);
int nest__mailbox_fd(void);

#endif
