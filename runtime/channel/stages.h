/* stages.h: the bytes of channels that pass functions of the specification (%decode). Included by
 * channel.h, in all servers; only those where NEST__DECODES is not 0 have the functions.
 *
 * A channel has stages from nest__stages_begin to nest__stages_end. They lie above encryption. The
 * record is found by the number of the descriptor, as in tls.h. */
#ifndef NEST_CHANNEL_STAGES_H
#define NEST_CHANNEL_STAGES_H

#include "../seam.h"

/* -- generated: actions.c */
struct nest_stage; /* nest_stage.h */
struct nest__stage {
    const char *name;
    size_t size; /* bytes of state for each connection */
    int (*run)(struct nest_stage *, void *state);
};
extern const struct nest__stage nest__spec_decodes[]; /* [NEST__DECODES], the outermost first */

int nest__stages_prepare(void);                    /* before workers are forked. 0 or -errno */
int nest__stages_begin(const struct nest__chan *); /* 0 or -ENOMEM; nothing is received */
void nest__stages_end(const struct nest__chan *);  /* lets the functions release what they have */
uint64_t nest__stages_most(void);                  /* bytes for a connection, at most */

/* Its bytes move only by the operations of channel.h, not through its descriptor. */
bool nest__stages_are(const struct nest__chan *);
/* Receives with the function `below`, and decodes. How many bytes; 0: end of input; -EAGAIN: none
 * now; -ECONNRESET: also if a function has refused the input. Other results are those of `below`.
 */
int64_t nest__stages_receive(const struct nest__chan *, void *to, size_t n, bool now,
                             int64_t (*below)(const struct nest__chan *, void *, size_t, bool));
/* Input was received that is not decoded yet, or a function has more to give. */
bool nest__stages_hold(const struct nest__chan *);
/* More may have come than was received, although a receive brought less than it had room for. */
bool nest__stages_full(const struct nest__chan *);
/* A receive has something to do, although its descriptor need not become readable. */
bool nest__stages_due(const struct nest__chan *);
bool nest__stages_refused(const struct nest__chan *); /* by a function: the input is invalid */

#endif
