/* splice.h: bytes that go from one channel to the output of another through a pipe of the kernel.
 *
 * Called by $relay, which opens and closes it, and by what receives and sends for it. The pipe
 * holds the last bytes of the output queue: an item of the queue counts them, so that they leave,
 * wait, and are dropped like all that is queued. Only sockets that nest__chan_apart is false of may
 * be spliced. Servers whose NEST__SPLICES is 0 call nothing of this. */
#ifndef NEST_CHANNEL_SPLICE_H
#define NEST_CHANNEL_SPLICE_H

#include "../seam.h"

enum { NEST__SPLICE_ENDS = 4 }; /* descriptors of a relay: two pipes */

struct nest__item;
struct nest__queue;

struct nest__splice {         /* one direction of a relay; a zeroed record has no pipe */
    struct nest__item *item;  /* in the queue; NULL: the pipe holds no queued bytes */
    struct nest__item *spare; /* for the next bytes */
    uint64_t copied;          /* bytes that were received without a pipe */
    uint64_t mark;            /* if `full`: it may be filled again when so many bytes are queued */
    int in, out;              /* the ends of the pipe: bytes are put `in`, and come `out` */
    bool open;
    bool refused; /* bytes are copied: there is no pipe, or the system does not splice them */
    bool full;
};

/* Opens the pipe between two sockets, which then do not wait by themselves. If it cannot be had, it
 * is refused. */
void nest__splice_open(struct nest__splice *, const struct nest__chan *from,
                       const struct nest__chan *to);
/* Receives at most `room` bytes behind a queue. How many; 0: end of input; -EAGAIN: nothing has
 * come; -ENOBUFS: the pipe became full or refused, look again whether it is used; -ECONNRESET;
 * -ENOMEM. */
int64_t nest__splice_receive(struct nest__splice *, struct nest__chan *from, struct nest__queue *,
                             uint32_t room);
/* Sends the next bytes of a pipe. How many; -EAGAIN: none now; -EOPNOTSUPP: nest__splice_refuse
 * makes them bytes that can be sent; -ECONNRESET. */
int64_t nest__splice_send(const struct nest__chan *to, int pipe, uint64_t n);
/* Copies what the pipe of a queue holds into the queue, in its place. The pipe is refused. 0 or
 * -ENOMEM: it was dropped. */
int nest__splice_refuse(struct nest__queue *);
/* Closes the pipe; the queue keeps its bytes, as above. 0 or -ENOMEM. */
int nest__splice_close(struct nest__splice *, struct nest__queue *);

#endif
