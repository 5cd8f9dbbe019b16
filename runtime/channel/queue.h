/* queue.h: what a channel still has to send, in order.
 *
 * Bytes are copied into blocks; a reference is memory that somebody else owns until it was
 * released; a file range is sent from its descriptor. Bytes that a poller was given for longer than
 * a call are in flight: they are not moved, and not freed, until nest__queue_sent; so they also
 * outlive a drop. A zeroed record is an empty queue. */
#ifndef NEST_CHANNEL_QUEUE_H
#define NEST_CHANNEL_QUEUE_H

#include "../seam.h"

struct nest__item {
    struct nest__item *next;
    size_t at, n; /* of bytes[], or of what it refers to: not sent yet */
    size_t cap;   /* BYTES; 0 in others, so that nothing is added to them */
    enum nest__item_kind { NEST__ITEM_BYTES, NEST__ITEM_REFERENCE, NEST__ITEM_FILE } kind;
    int fd;           /* FILE */
    const uint8_t *p; /* REFERENCE */
    void (*release)(void *);
    void *arg;
    uint8_t bytes[];
};

struct nest__queue {
    struct nest__item *first, *last; /* the last may be a block without any bytes */
    struct nest__item *spare;        /* an empty block, for the next reply; NULL */
    uint64_t n;                      /* bytes queued */
    uint64_t flight;                 /* of them, from the first on, in flight */
    bool dropped;                    /* n is 0, and some are still in flight */
};

/* A queue, and the time that its receiver has. */
struct nest__output {
    struct nest__queue queue;
    uint64_t mark;  /* so many of its bytes, the oldest, must leave within writeTimeout */
    uint32_t since; /* from here on; mark is 0 before anybody asked */
};

int nest__queue_more(struct nest__queue *, size_t n); /* nest__queue_room, where there is none */
/* Room for `n` more bytes, and a NUL behind them, in one piece at nest__queue_end. 0 or -ENOMEM. */
static inline int nest__queue_room(struct nest__queue *q, size_t n) {
    const struct nest__item *last = q->last;
    return last != NULL && last->at + last->n + n < last->cap ? 0 : nest__queue_more(q, n);
}
static inline uint8_t *nest__queue_end(const struct nest__queue *q) {
    return q->last->bytes + q->last->at + q->last->n;
}
static inline void nest__queue_added(struct nest__queue *q, size_t n) {
    q->last->n += n;
    q->n += n;
}
int nest__queue_reserve(struct nest__queue *, size_t cap); /* a block of this size. 0 or -ENOMEM */
/* Appends without a copy. `release(arg)` is called once: when it was sent, or dropped and nothing
 * is in flight. 0; -ENOMEM: nothing is appended, nothing released. */
int nest__queue_refer(struct nest__queue *, const void *p, size_t n, void (*release)(void *),
                      void *arg);
int nest__queue_file(struct nest__queue *, int fd, uint64_t at, uint64_t n, void (*release)(void *),
                     void *arg);

/* What is to be sent next: how many pieces, at most `most`; a file is one by itself. */
int nest__queue_next(const struct nest__queue *, struct nest__out[], int most);
void nest__queue_taken(struct nest__queue *, uint64_t n); /* are in flight; none was */
void nest__queue_left(struct nest__queue *,
                      uint64_t n); /* nest__queue_sent, of more than a block */
/* So many have left, and none is in flight any more. */
static inline void nest__queue_sent(struct nest__queue *q, uint64_t n) {
    struct nest__item *item = q->first;
    if (item != q->last || item->n != n || item->cap == 0 || q->dropped) {
        nest__queue_left(q, n);
        return;
    }
    item->at = item->n = 0; /* all there was; the block stays */
    q->n = q->flight = 0;
}
void nest__queue_drop(struct nest__queue *); /* nothing is queued, and nothing may follow */

/* The one block of another queue, which has no bytes, becomes this one's. */
void nest__queue_join(struct nest__queue *, struct nest__queue *other);
void nest__queue_free(struct nest__queue *);             /* nothing is in flight */
uint64_t nest__queue_memory(const struct nest__queue *); /* bytes of its blocks */
/* Bytes of the largest block that a queue of at most `limit` bytes comes to. */
uint64_t nest__queue_most(uint64_t limit);

#endif
