/* stages.c: received bytes pass the functions of %decode; see stages.h.
 *
 * Called by channel.c or the script, by loop/, blocking/, and by services. State: a record for each
 * channel with stages, in a table by descriptor, of this process; scratch memory of each thread.
 * Must not know how bytes are received, nor the language.
 *
 * A function is called with the memory into which the caller receives, so it never produces more
 * than there is room for: the rest of its input is held, and nothing is received meanwhile. */
#include "stages.h"
#include "nest_stage.h"
#include "records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    STAGES_ROOM = 8 * 1024, /* bytes of input that a function is called with, at most */
    STAGES_READS_MOST = 4,  /* receives without a byte of output: others have a turn */
    STAGES_RUNS_MOST = 64   /* calls of functions without a byte of output: as well */
};

struct stages_one {
    void *state;
    uint8_t *held; /* input that the function has not taken, from held_at on; NULL: none */
    uint32_t held_at, held_n;
    bool more;   /* it has filled its room, or given at the end: it may give more without input */
    bool ended;  /* nothing follows the input that it has */
    bool failed; /* it refuses what follows the bytes that it has given */
};

struct stages {
    bool refused;
    bool again; /* the last receive has ended for the sake of others */
    bool full;  /* the last bytes that were received filled their room: more may have come */
    struct stages_one each[NEST__DECODES];
};

struct stages_call {
    struct stages *all;
    const struct nest__chan *chan;
    int64_t (*below)(const struct nest__chan *, void *, size_t, bool);
    bool now;
    unsigned reads, runs;
};

static struct records stages_all;

/* scope: thread; a function does not wait, so nobody else uses it meanwhile */
static _Thread_local uint8_t stages_scratch[NEST__DECODES][STAGES_ROOM];

static struct stages *stages_of(const struct nest__chan *chan) {
    return records_of(&stages_all, chan);
}

/* -- beginning and end */

int nest__stages_prepare(void) {
    return records_prepare(&stages_all);
}

/* The record, and the states behind it. */
static size_t stages_size(void) {
    size_t size = records_aligned(sizeof(struct stages));
    for (unsigned i = 0; i < NEST__DECODES; i++) {
        size += records_aligned(nest__spec_decodes[i].size);
    }
    return size;
}

uint64_t nest__stages_most(void) {
    return stages_size() + (uint64_t)NEST__DECODES * STAGES_ROOM;
}

int nest__stages_begin(const struct nest__chan *chan) {
    size_t at = records_aligned(sizeof(struct stages));
    struct stages *all = records_fit(&stages_all, chan) ? calloc(1, stages_size()) : NULL;
    if (all == NULL) {
        return -ENOMEM;
    }
    for (unsigned i = 0; i < NEST__DECODES; i++) {
        all->each[i].state = (uint8_t *)all + at;
        at += records_aligned(nest__spec_decodes[i].size);
    }
    records_put(&stages_all, chan, all);
    return 0;
}

void nest__stages_end(const struct nest__chan *chan) {
    struct stages *all = stages_of(chan);
    if (all == NULL) {
        return;
    }
    records_put(&stages_all, chan, NULL);
    for (unsigned i = 0; i < NEST__DECODES; i++) {
        nest_stage stage = {.over = true};
        (void)nest__spec_decodes[i].run(&stage, all->each[i].state);
        free(all->each[i].held);
    }
    free(all);
}

bool nest__stages_are(const struct nest__chan *chan) {
    return stages_of(chan) != NULL;
}

bool nest__stages_refused(const struct nest__chan *chan) {
    const struct stages *all = stages_of(chan);
    return all != NULL && all->refused;
}

bool nest__stages_full(const struct nest__chan *chan) {
    const struct stages *all = stages_of(chan);
    return all != NULL && all->full;
}

bool nest__stages_hold(const struct nest__chan *chan) {
    const struct stages *all = stages_of(chan);
    bool holds = all != NULL && all->again;
    for (unsigned i = 0; all != NULL && i < NEST__DECODES; i++) {
        holds = holds || all->each[i].held_n > 0 || all->each[i].more;
    }
    return holds;
}

bool nest__stages_due(const struct nest__chan *chan) {
    const struct stages *all = stages_of(chan);
    return all != NULL && (all->each[0].ended || nest__stages_hold(chan));
}

/* -- input */

/* Keeps the last n bytes of the input that a function was called with. False: no memory. */
static bool stages_keep(struct stages_one *one, const uint8_t *in, size_t n) {
    if (one->held != NULL) { /* it is the input */
        one->held_at += one->held_n - (uint32_t)n;
    } else if (n > 0) {
        one->held = malloc(n);
        if (one->held == NULL) {
            return false;
        }
        memcpy(one->held, in, n);
        one->held_at = 0;
    }
    one->held_n = (uint32_t)n;
    if (n == 0) {
        free(one->held);
        one->held = NULL;
    }
    return true;
}

/* Calls a function once. How many bytes it gives; -ECONNRESET: no memory. Neither to take nor to
 * give anything counts as a refusal of the input, because it would go on forever. */
static int64_t stages_run(struct stages_one *one, unsigned i, nest_stage *stage) {
    size_t n = stage->in_n;
    one->failed = nest__spec_decodes[i].run(stage, one->state) < 0 || stage->took > n ||
                  stage->gave > stage->out_n || (n > 0 && stage->took + stage->gave == 0);
    if (one->failed) {
        one->more = true;
        return stage->gave <= stage->out_n ? (int64_t)stage->gave : 0;
    }
    one->more = stage->gave == stage->out_n || (stage->end && stage->gave > 0);
    return stages_keep(one, stage->in + stage->took, n - stage->took) ? (int64_t)stage->gave
                                                                      : -ECONNRESET;
}

/* Bytes as they are received. Results: as nest__stages_receive. */
static int64_t stages_below(struct stages_call *call, uint8_t *to, size_t room) {
    call->all->again = call->reads == STAGES_READS_MOST;
    call->reads++;
    if (call->all->again) {
        return -EAGAIN;
    }
    int64_t got = call->below(call->chan, to, room, call->now);
    call->all->full = got == (int64_t)room;
    return got;
}

/* Bytes of the first `depth` functions; without one, as they are received. Results: as
 * nest__stages_receive. */
static int64_t stages_pull(struct stages_call *call, unsigned depth, uint8_t *to, size_t room) {
    if (depth == 0) {
        return stages_below(call, to, room);
    }
    struct stages_one *one = &call->all->each[depth - 1];
    for (;;) {
        uint8_t *scratch = stages_scratch[depth - 1];
        if (one->failed) {
            call->all->refused = true;
            return -ECONNRESET;
        }
        if (call->runs >= STAGES_RUNS_MOST) { /* one may give without end what another drops */
            call->all->again = true;
            return -EAGAIN;
        }
        nest_stage stage = {.in = scratch, .out = to, .out_n = room};
        if (one->held_n > 0) {
            stage.in = one->held + one->held_at;
            stage.in_n = one->held_n;
        } else if (!one->more && !one->ended) {
            int64_t got = stages_pull(call, depth - 1, scratch, STAGES_ROOM);
            if (got < 0) {
                return got;
            }
            one->ended = got == 0;
            stage.in_n = (size_t)got;
        } else if (!one->more) { /* it has given all of it */
            return 0;
        }
        stage.end = one->ended;
        call->runs++;
        int64_t gave = stages_run(one, depth - 1, &stage);
        if (gave != 0) {
            return gave;
        }
    }
}

int64_t nest__stages_receive(const struct nest__chan *chan, void *to, size_t n, bool now,
                             int64_t (*below)(const struct nest__chan *, void *, size_t, bool)) {
    struct stages_call call = {.all = stages_of(chan), .chan = chan, .below = below, .now = now};
    call.all->again = false;
    return call.all->refused ? -ECONNRESET : stages_pull(&call, NEST__DECODES, to, n);
}
