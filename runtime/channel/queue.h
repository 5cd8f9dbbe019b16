/* queue.h: what a channel still has to send, in order.
 *
 * Bytes are copied into blocks. A reference is memory of another owner, which the queue releases
 * when it is sent. A file range is sent from its descriptor, and so is what a pipe holds
 * (splice.h). Bytes that a poller keeps after a call are in flight: they are neither moved nor
 * freed until nest__queue_sent, not even by a drop. A zeroed record is an empty queue. */
#ifndef NEST_CHANNEL_QUEUE_H
#define NEST_CHANNEL_QUEUE_H

#include "../seam.h"

struct nest__item {
    struct nest__item *next;
    size_t at, n; /* the part that is not sent yet, of bytes[] or of the reference or file */
    size_t cap;   /* of bytes[]; 0 in other kinds, so that nothing is added to them */
    enum nest__item_kind {
        NEST__ITEM_BYTES,
        NEST__ITEM_REFERENCE,
        NEST__ITEM_FILE,
        NEST__ITEM_PIPE
    } kind;
    int fd;           /* FILE, PIPE */
    const uint8_t *p; /* REFERENCE */
    void (*release)(void *);
    void *arg;
    uint8_t bytes[];
};

struct nest__queue {
    struct nest__item *first, *last; /* the last may be an empty block */
    struct nest__item *spare;        /* an empty block, for the next reply; NULL */
    uint64_t n;                      /* bytes queued */
    uint64_t flight;                 /* of these, the first ones, in flight */
    bool dropped;                    /* n is 0, but dropped bytes are still in flight */
};

/* A queue, and the progress of its receiver (engine/clock.c). */
struct nest__output {
    struct nest__queue queue;
    uint64_t sent;   /* bytes that were sent, modulo 2^64 */
    uint64_t taken;  /* nest__chan_given, without what the system held, at the last look */
    uint64_t before; /* the same when the window of minimumRate began */
    uint32_t since;  /* if `waits`: the start of waiting, or the last progress */
    uint32_t moved;  /* if `moves`: the last send */
    uint32_t window; /* if `counts`: the start of the window */
    uint32_t look;   /* when the next look at the progress is due; 0: never */
    bool waits;      /* output waits, and its deadline was asked for */
    bool moves;      /* bytes were sent since the last look, while output waited */
    bool looked;     /* `taken` is known */
    bool counts;     /* there is a window */
};

void nest__queue_append(struct nest__queue *, struct nest__item *); /* its bytes are not counted */
int nest__queue_more(struct nest__queue *, size_t n); /* the slow path of nest__queue_room */
/* Reserves `n` contiguous bytes, and one for a NUL, at nest__queue_end. 0 or -ENOMEM. */
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
int nest__queue_reserve(struct nest__queue *,
                        size_t cap); /* appends an empty block. 0 or -ENOMEM */
/* Appends without a copy. Calls `release(arg)` once: when all is sent, or when it was dropped and
 * nothing is in flight. 0; -ENOMEM: nothing is appended, nothing released. */
int nest__queue_refer(struct nest__queue *, const void *p, size_t n, void (*release)(void *),
                      void *arg);
int nest__queue_file(struct nest__queue *, int fd, uint64_t at, uint64_t n, void (*release)(void *),
                     void *arg);

/* Lists the next pieces to send. Returns how many, at most `most`; a file range or a pipe
 * comes alone. */
int nest__queue_next(const struct nest__queue *, struct nest__out[], int most);
/* Puts the first n bytes in flight. None may be in flight before. */
void nest__queue_taken(struct nest__queue *, uint64_t n);
void nest__queue_left(struct nest__queue *, uint64_t n); /* the slow path of nest__queue_sent */
/* Removes the first n bytes, which are sent. No byte is in flight any more. */
static inline void nest__queue_sent(struct nest__queue *q, uint64_t n) {
    struct nest__item *item = q->first;
    if (item != q->last || item->n != n || item->cap == 0 || q->dropped) {
        nest__queue_left(q, n);
        return;
    }
    item->at = item->n = 0; /* the queue is empty; the block stays */
    q->n = q->flight = 0;
}
void nest__queue_drop(struct nest__queue *); /* empties the queue; nothing may be added after it */

/* Moves the only block of another queue, which is empty, to this queue. */
void nest__queue_join(struct nest__queue *, struct nest__queue *other);
void nest__queue_free(struct nest__queue *);             /* requires that nothing is in flight */
uint64_t nest__queue_memory(const struct nest__queue *); /* bytes of its blocks */
/* The size of the largest block of a queue that holds at most `limit` bytes. */
uint64_t nest__queue_most(uint64_t limit);

#endif
