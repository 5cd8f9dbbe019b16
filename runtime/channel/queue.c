/* queue.c: the output queue of a channel; see queue.h.
 *
 * Called by engine/output.c and engine/work.c. State: the caller's. Must not know sessions, nor how
 * bytes are sent. A block is kept after its bytes have been sent, so that a warm reply allocates no
 * memory. A reply that fits into the block is one send. */
#include "queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUE_FIRST = 1024 };

/* -- blocks */

static void queue_release(struct nest__item *item) {
    if (item->release != NULL) {
        item->release(item->arg);
    }
    free(item);
}

/* Releases an item that was sent or dropped; of two blocks, keeps the larger as spare. */
static void queue_retire(struct nest__queue *q, struct nest__item *item) {
    struct nest__item *spare = q->spare;
    if (item->kind == NEST__ITEM_BYTES && (spare == NULL || spare->cap < item->cap)) {
        item->at = item->n = 0;
        q->spare = item;
        item = spare;
    }
    if (item != NULL) {
        queue_release(item);
    }
}

void nest__queue_append(struct nest__queue *q, struct nest__item *item) {
    item->next = NULL;
    if (q->last == NULL) {
        q->first = item;
    } else {
        q->last->next = item;
    }
    q->last = item;
}

int nest__queue_reserve(struct nest__queue *q, size_t cap) {
    struct nest__item *block = malloc(sizeof *block + cap);
    if (block == NULL) {
        return -ENOMEM;
    }
    *block = (struct nest__item){.kind = NEST__ITEM_BYTES, .cap = cap};
    nest__queue_append(q, block);
    return 0;
}

/* Appends another block, because the last one must not move. */
static int queue_block(struct nest__queue *q, size_t n) {
    struct nest__item *block = q->spare;
    size_t cap = QUEUE_FIRST;
    if (block != NULL && block->cap > n) {
        q->spare = NULL;
        nest__queue_append(q, block);
        return 0;
    }
    while (cap <= n) {
        cap *= 2;
    }
    return nest__queue_reserve(q, cap);
}

/* Reclaims the space of sent bytes by moving the queued ones, when the sent bytes are more than
 * half. So a byte moves at most once on average, and sent bytes never exceed queued ones. */
static void queue_move(struct nest__item *block) {
    if (block->n > 0) {
        memmove(block->bytes, block->bytes + block->at, block->n);
    }
    block->at = 0;
}

/* Replaces the last block by a larger one; without memory, uses what there is. Not inlined, because
 * a warm request has space. */
__attribute__((noinline)) static int queue_grow(struct nest__queue *q, size_t n) {
    struct nest__item *old = q->last, **link = &q->first;
    size_t cap = old->cap;
    while (cap <= old->at + old->n + n) {
        cap *= 2;
    }
    while (*link != old) {
        link = &(*link)->next;
    }
    struct nest__item *block = realloc(old, sizeof *block + cap);
    if (block != NULL) {
        block->cap = cap;
        *link = q->last = block;
        return 0;
    }
    if (old->n + n >= old->cap) {
        return -ENOMEM;
    }
    queue_move(old);
    return 0;
}

int nest__queue_more(struct nest__queue *q, size_t n) {
    struct nest__item *last = q->last;
    if (last == NULL || last->kind != NEST__ITEM_BYTES) {
        return queue_block(q, n);
    }
    if (q->flight + last->n > q->n && q->flight > 0) { /* some of its bytes are in flight */
        return queue_block(q, n);
    }
    if (last->at > last->n && last->n + n < last->cap) {
        queue_move(last);
        return 0;
    }
    return queue_grow(q, n);
}

uint64_t nest__queue_most(uint64_t limit) {
    uint64_t cap = QUEUE_FIRST;
    while (cap <= 2 * limit - 2) {
        cap *= 2;
    }
    return cap;
}

/* -- what is not copied */

static int queue_other(struct nest__queue *q, const struct nest__item *what) {
    struct nest__item *item = malloc(sizeof *item);
    if (item == NULL) {
        return -ENOMEM;
    }
    *item = *what;
    nest__queue_append(q, item);
    q->n += item->n;
    return 0;
}

int nest__queue_refer(struct nest__queue *q, const void *p, size_t n, void (*release)(void *),
                      void *arg) {
    const struct nest__item item = {
        .kind = NEST__ITEM_REFERENCE, .p = p, .n = n, .release = release, .arg = arg};
    return queue_other(q, &item);
}

int nest__queue_file(struct nest__queue *q, int fd, uint64_t at, uint64_t n,
                     void (*release)(void *), void *arg) {
    const struct nest__item item = {.kind = NEST__ITEM_FILE,
                                    .fd = fd,
                                    .at = (size_t)at,
                                    .n = (size_t)n,
                                    .release = release,
                                    .arg = arg};
    return queue_other(q, &item);
}

/* -- sending */

int nest__queue_next(const struct nest__queue *q, struct nest__out out[], int most) {
    int pieces = 0;
    for (const struct nest__item *item = q->first; item != NULL && pieces < most && q->n > 0;
         item = item->next) {
        if (item->kind >= NEST__ITEM_FILE) {
            if (pieces == 0) {
                out[pieces++] = (struct nest__out){
                    .kind = item->kind == NEST__ITEM_FILE ? NEST__OUT_FILE : NEST__OUT_PIPE,
                    .n = item->n,
                    .fd = item->fd,
                    .at = item->at};
            }
            return pieces;
        }
        if (item->n > 0) {
            const uint8_t *p = item->kind == NEST__ITEM_BYTES ? item->bytes : item->p;
            out[pieces++] =
                (struct nest__out){.kind = NEST__OUT_BYTES, .p = p + item->at, .n = item->n};
        }
    }
    return pieces;
}

void nest__queue_taken(struct nest__queue *q, uint64_t n) {
    q->flight = n;
}

/* Nothing is queued any more: keeps only the largest block. */
static void queue_empty(struct nest__queue *q) {
    struct nest__item *item = q->first, *next;
    if (item == NULL || (item == q->last && item->kind == NEST__ITEM_BYTES)) {
        if (item != NULL) {
            item->at = item->n = 0;
        }
        return;
    }
    for (; item != NULL; item = next) {
        next = item->next;
        queue_retire(q, item);
    }
    q->first = q->last = q->spare;
    q->spare = NULL;
    if (q->first != NULL) {
        q->first->next = NULL;
    }
}

void nest__queue_left(struct nest__queue *q, uint64_t n) {
    q->flight = 0;
    q->n -= q->dropped ? 0 : n;
    q->dropped = false;
    if (q->n == 0) {
        queue_empty(q);
        return;
    }
    while (n >= q->first->n) { /* another item follows */
        struct nest__item *item = q->first;
        n -= item->n;
        q->first = item->next;
        queue_retire(q, item);
    }
    q->first->at += (size_t)n;
    q->first->n -= (size_t)n;
}

void nest__queue_drop(struct nest__queue *q) {
    q->n = 0;
    q->dropped = q->flight > 0;
    if (!q->dropped) {
        queue_empty(q);
    }
}

/* -- blocks of another queue */

void nest__queue_join(struct nest__queue *q, struct nest__queue *other) {
    nest__queue_append(q, other->first);
    other->first = other->last = NULL;
}

void nest__queue_free(struct nest__queue *q) {
    for (struct nest__item *item = q->first, *next; item != NULL; item = next) {
        next = item->next;
        queue_release(item);
    }
    free(q->spare);
    *q = (struct nest__queue){0};
}

uint64_t nest__queue_memory(const struct nest__queue *q) {
    uint64_t all = q->spare == NULL ? 0 : q->spare->cap;
    for (const struct nest__item *item = q->first; item != NULL; item = item->next) {
        all += item->cap;
    }
    return all;
}
