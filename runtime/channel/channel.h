/* channel.h: what can be done with a channel: the same few operations for every kind.
 *
 * Called by pollers, loop/ and blocking/; nothing else receives or sends. Each kind is a file:
 * socket.c, pipe.c, script.c. channel.c chooses between kinds that a server has; a script has one.
 * Only the functions of seam.h are for the engine. */
#ifndef NEST_CHANNEL_H
#define NEST_CHANNEL_H

#include "../seam.h"
#include "encodes.h"
#include "splice.h"
#include "stages.h"
#include "tls.h"

#include <errno.h>

enum nest__chan_how {
    NEST__CHAN_PLAIN, /* as its descriptor is: waits, or not */
    NEST__CHAN_NOW    /* does not wait, although the descriptor may be one that does */
};
enum {
    NEST__CHAN_VECTORS = 16, /* most pieces of one send */
    /* A descriptor that is ready may bring nothing: a part of what is encrypted or encoded. */
    NEST__CHAN_LAYERS = NEST__TLS || NEST__DECODES > 0,
    NEST__CHAN_STAGES = NEST__DECODES > 0 || NEST__ENCODES > 0,
    /* The end of output is bytes, too: they are sent before the connection is closed. */
    NEST__CHAN_BYES = NEST__TLS || NEST__ENCODES > 0
};

/* How many bytes; 0: end of input; -EAGAIN: none now; -EINTR; -ECONNRESET. */
int64_t nest__chan_receive(const struct nest__chan *, void *to, size_t n, enum nest__chan_how);
/* `n` pieces, at most NEST__CHAN_VECTORS, none of them a file. How many bytes; -EAGAIN: none now;
 * -ECONNRESET. */
int64_t nest__chan_send(const struct nest__chan *, const struct nest__out[], int n,
                        enum nest__chan_how);
/* As nest__send_file, of a descriptor that does not wait. */
int64_t nest__chan_send_file(const struct nest__chan *, int fd, uint64_t at, uint64_t n);
/* What nest__out_next has said, bytes, a file or a pipe. A file that has not what was promised cuts
 * the channel off: -ECONNRESET. -EOPNOTSUPP: a pipe that nest__out_copy makes bytes. */
static inline int64_t nest__chan_send_out(struct nest__chan *chan, const struct nest__out out[],
                                          int n, enum nest__chan_how how) {
    if (out[0].kind == NEST__OUT_BYTES) {
        return nest__chan_send(chan, out, n, how);
    }
    if (NEST__SPLICES && out[0].kind == NEST__OUT_PIPE) {
        return nest__splice_send(chan, out[0].fd, out[0].n);
    }
    int64_t sent = nest__chan_send_file(chan, out[0].fd, out[0].at, out[0].n);
    if (sent > 0 || sent == -EAGAIN || sent == -ECONNRESET) {
        return sent;
    }
    chan->state |= NEST__CHAN_CUT;
    return -ECONNRESET;
}
/* Input waits to be received, and closing now would destroy output that the client has not read.
 * Asks the system only if output took its time since the last receive: a request that is answered
 * at once does not pay for it. */
bool nest__chan_unread(const struct nest__chan *);
/* No output follows; input may still come. 0; -1: this kind cannot, or the client is gone. */
int nest__chan_half_close(const struct nest__chan *);
/* Closing it will reset the connection: the system keeps nothing to deliver. */
void nest__chan_reset(const struct nest__chan *);
void nest__chan_close(const struct nest__chan *); /* by a reset if it was cut off */
/* Its descriptor, for a poll. */
int nest__chan_descriptor(const struct nest__chan *, bool output);
/* Other processes may have it open: it is not closed where it should be, nor by closing it here. */
bool nest__chan_shared(const struct nest__chan *);
/* Its bytes move only by these operations. Who moves those of its descriptor (a ring) may only ask
 * whether the descriptor is ready. A connection that goes back is one, as nothing may be received
 * ahead of it; so is one whose requests the kernel may take (kernelCache): each wakes a receive
 * that finds nothing, and io_uring passes a receive that was woken so often to a thread. */
static inline bool nest__chan_apart(const struct nest__chan *chan) {
    return (NEST__POLLED && chan->kind <= NEST__UNIX) || nest__chan_shared(chan) ||
           (NEST__TLS && nest__tls_is(chan)) || (NEST__DECODES > 0 && nest__stages_are(chan)) ||
           (NEST__ENCODES > 0 && nest__encodes_are(chan));
}
/* A receive has something to do, although its descriptor need not become readable: it is due as
 * soon as the descriptor is writable, too. */
static inline bool nest__chan_eager(const struct nest__chan *chan) {
    return (NEST__TLS && (nest__tls_holds_input(chan) || nest__tls_holds_output(chan))) ||
           (NEST__DECODES > 0 && nest__stages_due(chan));
}
/* The functions of the specification begin, before a byte moves, and end. 0 or -ENOMEM. */
static inline int nest__chan_dress(const struct nest__chan *chan) {
    if (NEST__DECODES > 0 && nest__stages_begin(chan) < 0) {
        return -ENOMEM;
    }
    return NEST__ENCODES > 0 ? nest__encodes_begin(chan) : 0;
}
static inline void nest__chan_undress(const struct nest__chan *chan) {
    if (NEST__DECODES > 0) {
        nest__stages_end(chan);
    }
    if (NEST__ENCODES > 0) {
        nest__encodes_end(chan);
    }
}
/* Ends what lies above the descriptor: what still comes is not for the session. */
static inline void nest__chan_strip(const struct nest__chan *chan) {
    nest__chan_undress(chan);
    if (NEST__TLS) {
        nest__tls_end(chan);
    }
}
/* A receive can do nothing before the descriptor is writable: bytes of the protocol wait for room.
 */
static inline bool nest__chan_blocked(const struct nest__chan *chan) {
    return NEST__TLS && nest__tls_holds_output(chan);
}
/* No output follows: sends what functions of %encode have left. True: nothing of it waits. */
bool nest__chan_encoded(const struct nest__chan *);
/* No output follows. True: it may be closed; else when it is writable, after this was called again.
 */
static inline bool nest__chan_bye(const struct nest__chan *chan) {
    return (NEST__ENCODES == 0 || nest__chan_encoded(chan)) && (!NEST__TLS || nest__tls_bye(chan));
}
/* How long a client may take no byte of this end, in ms. What was encoded is output like any. */
static inline uint32_t nest__chan_bye_limit(void) {
    uint32_t linger = nest__config.linger_timeout, output = nest__config.write_timeout;
    return NEST__ENCODES > 0 && output > linger ? output : linger;
}

#endif
