/* encodes.h: the bytes that a channel sends pass functions of the specification (%encode). Included
 * by channel.h, in all servers; only those where NEST__ENCODES is not 0 have the functions.
 *
 * A channel is encoded from nest__encodes_begin to nest__encodes_end. The functions lie above
 * encryption. `below` sends as nest__chan_send what they have given, and never a file. */
#ifndef NEST_CHANNEL_ENCODES_H
#define NEST_CHANNEL_ENCODES_H

#include "stages.h"

extern const struct nest__stage nest__spec_encodes[]; /* [NEST__ENCODES]; generated: actions.c */

typedef int64_t nest__encodes_below(const struct nest__chan *, const struct nest__out[], int n,
                                    bool now);

int nest__encodes_prepare(void);                    /* before workers are forked. 0 or -errno */
int nest__encodes_begin(const struct nest__chan *); /* 0 or -ENOMEM; nothing is sent */
void nest__encodes_end(const struct nest__chan *);  /* lets the functions release what they have */
uint64_t nest__encodes_most(void);                  /* bytes for a connection, at most */
/* Its bytes move only by the operations of channel.h, not through its descriptor. */
bool nest__encodes_are(const struct nest__chan *);
bool nest__encodes_failed(const struct nest__chan *); /* a function has: nothing can be sent */

/* Encode and send, bytes or a part of a file. How many bytes of these have left in their encoded
 * form; -EAGAIN: none now; -ECONNRESET; of a file as nest__send_file. The next call must begin with
 * the first byte that has not left: it may be encoded already. */
int64_t nest__encodes_send(const struct nest__chan *, const struct nest__out[], int n, bool now,
                           nest__encodes_below *below);
int64_t nest__encodes_send_file(const struct nest__chan *, int fd, uint64_t at, uint64_t n,
                                nest__encodes_below *below);
/* As nest__chan_given: how many bytes `below` has sent of the form that the functions give, if so
 * many of the queue count as sent. */
uint64_t nest__encodes_given(const struct nest__chan *, uint64_t sent);
/* Nothing follows: sends what the functions give at the end. True: all of it has left, or never
 * will; else when the channel is writable, after this was called again. */
bool nest__encodes_bye(const struct nest__chan *, nest__encodes_below *below);

#endif
