/* ring.h: one ring of the kernel: operations that are submitted together and complete later, and
 * buffers for what is received.
 *
 * Called by uring.c. Must not know what an operation is for. */
#ifndef NEST_POLLER_RING_H
#define NEST_POLLER_RING_H

#include "../seam.h"
#include "ring_abi.h"

#include <errno.h>

/* What fits into one receive. Where each receive is a message, it must not be divided. */
enum { NEST__RING_BUFFER = NEST__MESSAGES ? NEST__VISIT_IN : 4096 };

/* Why workers will get no ring; NULL: they will. Called before there are workers. */
const char *nest__ring_refusal(void);
/* Creates this process's ring. 0; -errno: the kernel has none, or not one that suffices. */
int nest__ring_open(void);

/* An entry for an operation, which is submitted by the next nest__ring_enter. The caller fills the
 * rest, which is zeroed, before another call. NULL: no memory for operations. */
struct nest__sqe *nest__ring_submit(uint8_t opcode, int fd, uint64_t name);
/* Cancels the operation of that name; if it has completed already, nothing happens. `own`: the name
 * of the cancellation. */
void nest__ring_cancel(uint64_t name, uint64_t own);
/* Polls a descriptor, once or until it is cancelled. False: no memory for operations. */
bool nest__ring_poll(int fd, uint32_t events, bool multi, uint64_t name);
/* Closes a descriptor, and tells nobody. False: the caller has to. */
bool nest__ring_close(int fd, uint64_t own);
enum { NEST__RING_VECTORS = 16 };
/* The message of a SENDMSG, with room for NEST__RING_VECTORS pieces, until the next
 * nest__ring_enter. The caller submits its entry next, for which there is room. NULL: there are too
 * many. */
struct msghdr *nest__ring_message(void);
/* Submits operations, and runs what completes. `wait`: until one has completed. */
void nest__ring_enter(bool wait);

/* Operations that have completed, oldest first. */
uint32_t nest__ring_count(void);
uint32_t nest__ring_count_without(uint64_t bits); /* of names that have not all of these bits */
/* Removes the oldest one. False: there is none. */
bool nest__ring_next(struct nest__cqe *);
/* Removes the one with this name, wherever it is. False: it has not completed. */
bool nest__ring_take(uint64_t name, struct nest__cqe *);
bool nest__ring_has(uint64_t name);

/* The buffer that a completion names, which belongs to the caller until it is given back. */
uint8_t *nest__ring_buffer(uint32_t id);
void nest__ring_give(uint32_t id);
/* The result of a receive that has completed; -EAGAIN: it has received nothing. */
static inline int64_t nest__ring_received(const struct nest__cqe *cqe) {
    switch (cqe->result) {
    case -ENOBUFS: /* of the ring: other input fills them */
    case -EINTR:
    case -EAGAIN:
    case -ECANCELED:
        return -EAGAIN;
    default:
        return cqe->result < 0 ? -ECONNRESET : cqe->result;
    }
}

#endif
