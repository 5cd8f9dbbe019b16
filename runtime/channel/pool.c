/* pool.c: the records of further channels; see pool.h.
 *
 * Called by the engine, by loop/, by pollers and by blocking/. State: an array with 15 records for
 * each session, of this process. Must not know what a channel is used for, nor how bytes move.
 * Records with equal numbers lie side by side in the order of slots, so that memory is used only
 * for as many channels as sessions really have. A thread touches the records of its own session
 * alone. */
#include "pool.h"
#include "../platform/platform.h"

#include <stdatomic.h>
#include <string.h>

/* scope: process, shared by its threads; set once. A record is its session's own. */
static _Atomic(void *) pool_slab;

static struct nest__further *pool_records(void) {
    return atomic_load_explicit(&pool_slab, memory_order_acquire);
}

static struct nest__further *pool_at(const nest_session *s, unsigned number) {
    return &pool_records()[(number - 1) * nest__config.max_clients + s->self.slot];
}

struct nest__further *nest__further_take(nest_session *s, int fd, uint8_t kind) {
    struct nest__further *records =
        nest__slab(&pool_slab, NEST__FURTHER * sizeof(struct nest__further));
    unsigned number = 1;
    if (records == NULL) {
        return NULL;
    }
    while (number <= NEST__FURTHER && pool_at(s, number)->phase != NEST__FURTHER_FREE) {
        number++;
    }
    if (number > NEST__FURTHER) {
        return NULL;
    }
    struct nest__further *further = pool_at(s, number);
    uint32_t gen = further->gen;
    *further = (struct nest__further){.chan = {.fd = fd, .kind = kind, .state = NEST__CHAN_MORE},
                                      .number = (uint8_t)number,
                                      .phase = NEST__FURTHER_OPEN,
                                      .gen = gen,
                                      .session = s->self,
                                      .until = {.prev = NEST__NO_NUMBER}};
    s->channels = s->channels > number ? s->channels : (uint8_t)number;
    return further;
}

void nest__further_give(nest_session *s, struct nest__further *further) {
    further->phase = NEST__FURTHER_FREE;
    further->gen++;
    while (s->channels > 0 && pool_at(s, s->channels)->phase == NEST__FURTHER_FREE) {
        s->channels--;
    }
}

struct nest__further *nest__further_of(const nest_session *s, const struct nest__chan *chan) {
    return chan == &s->c0 ? NULL : (struct nest__further *)(uintptr_t)chan;
}

struct nest__further *nest__further_next(const nest_session *s, unsigned number) {
    while (number < s->channels) {
        struct nest__further *further = pool_at(s, ++number);
        if (further->phase != NEST__FURTHER_FREE) {
            return further;
        }
    }
    return NULL;
}

bool nest__further_any(const nest_session *s) {
    return s->channels > 0;
}

struct nest__chan *nest__chan_at(nest_session *s, unsigned number) {
    if (number == 0) {
        return &s->c0;
    }
    if (number > s->channels || pool_at(s, number)->phase != NEST__FURTHER_OPEN) {
        return NULL;
    }
    return &pool_at(s, number)->chan;
}

bool nest__further_is(unsigned channel) {
    return channel > 0;
}

struct nest__further *nest__further_at(uint32_t index) {
    return &pool_records()[index];
}

struct nest__further *nest__further_timed(uint32_t number) {
    return number < NEST__FURTHER_FIRST ? NULL : nest__further_at(number - NEST__FURTHER_FIRST);
}
