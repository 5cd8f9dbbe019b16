/* early.h: input that has come while its channel did not await it.
 *
 * Called by uring.c. The bytes are copied, so that the buffers of the ring are free for others; a
 * channel keeps at most what one receive brings. Must not know who awaits what. */
#ifndef NEST_POLLER_EARLY_H
#define NEST_POLLER_EARLY_H

#include "ring.h"

struct nest__early {
    uint32_t at, n; /* the bytes that are left: n of them from bytes + at */
    bool ended;     /* the end of input, or an error, comes behind them: */
    int32_t end;    /* 0 or -ECONNRESET */
    uint8_t bytes[];
};

int nest__early_begin(void); /* 0 or -ENOMEM */
/* What the channel has; NULL: nothing. */
struct nest__early *nest__early_of(const nest_session *, const struct nest__chan *);
/* Keeps `n` bytes, and an end of input if `ended`, for a channel that has nothing. 0 or -ENOMEM. */
int nest__early_put(const nest_session *, const struct nest__chan *, const void *p, uint32_t n,
                    bool ended, int32_t end);
void nest__early_drop(const nest_session *, const struct nest__chan *);

#endif
