/* encodes.c: the bytes of a channel's output pass the functions of %encode; see encodes.h.
 *
 * Called by channel.c or the script. State: a record for each channel that is encoded, in a table
 * by descriptor, of this process; scratch memory of each thread. Must not know how bytes are sent,
 * nor the language.
 *
 * A byte of the queue counts as sent when all that was made of it has left. Until then the queue
 * keeps it, so limits and waits are those of the queue, and it is not encoded again. Each function
 * has room for one piece of output, and is not called before the next one has taken all of that. */
#include "encodes.h"
#include "../platform/platform.h"
#include "nest_stage.h"
#include "records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ENCODES_ROOM = 16 * 1024, /* bytes of input, and of output, of a call: a record of TLS */
    ENCODES_RUNS_MOST = 64    /* calls of functions in one operation: others have a turn */
};

enum encodes_tell { ENCODES_NOTHING, ENCODES_FLUSH, ENCODES_END };

struct encodes_one {
    void *state;
    uint8_t *held;  /* its output between two operations; NULL: none */
    uint32_t at, n; /* of its output, what the next one has not taken */
    bool more;      /* it has filled its room: it may have more to give */
    uint8_t tell;   /* it has all its input, and must be told this */
};

struct encodes {
    bool failed, said_bye;
    uint64_t pending; /* bytes of the queue that the first one has taken, and that have not left */
    uint64_t given;   /* encoded bytes that have left */
    uint64_t counted; /* bytes of the queue that callers were told have left */
    struct encodes_one each[NEST__ENCODES];
};

/* What is to be sent: pieces, or a part of a file. */
struct encodes_source {
    const struct nest__out *out;
    int pieces, fd;
    uint64_t at, n;
};

struct encodes_call {
    struct encodes *all;
    const struct nest__chan *chan;
    nest__encodes_below *below;
    bool now;
    unsigned runs;
};

static struct records encodes_all;

/* scope: thread; a function does not wait, so nobody else uses them meanwhile */
static _Thread_local uint8_t encodes_input[ENCODES_ROOM];
static _Thread_local uint8_t encodes_scratch[NEST__ENCODES][ENCODES_ROOM];

static struct encodes *encodes_of(const struct nest__chan *chan) {
    return records_of(&encodes_all, chan);
}

/* -- beginning and end */

int nest__encodes_prepare(void) {
    return records_prepare(&encodes_all);
}

/* The record, and the states behind it. */
static size_t encodes_size(void) {
    size_t size = records_aligned(sizeof(struct encodes));
    for (unsigned i = 0; i < NEST__ENCODES; i++) {
        size += records_aligned(nest__spec_encodes[i].size);
    }
    return size;
}

uint64_t nest__encodes_most(void) {
    return encodes_size() + (uint64_t)NEST__ENCODES * ENCODES_ROOM;
}

int nest__encodes_begin(const struct nest__chan *chan) {
    size_t at = records_aligned(sizeof(struct encodes));
    struct encodes *all = records_fit(&encodes_all, chan) ? calloc(1, encodes_size()) : NULL;
    if (all == NULL) {
        return -ENOMEM;
    }
    for (unsigned i = 0; i < NEST__ENCODES; i++) {
        all->each[i].state = (uint8_t *)all + at;
        at += records_aligned(nest__spec_encodes[i].size);
    }
    records_put(&encodes_all, chan, all);
    return 0;
}

void nest__encodes_end(const struct nest__chan *chan) {
    struct encodes *all = encodes_of(chan);
    if (all == NULL) {
        return;
    }
    records_put(&encodes_all, chan, NULL);
    for (unsigned i = 0; i < NEST__ENCODES; i++) {
        nest_stage stage = {.over = true};
        (void)nest__spec_encodes[i].run(&stage, all->each[i].state);
        free(all->each[i].held);
    }
    free(all);
}

bool nest__encodes_are(const struct nest__chan *chan) {
    return encodes_of(chan) != NULL;
}

bool nest__encodes_failed(const struct nest__chan *chan) {
    const struct encodes *all = encodes_of(chan);
    return all != NULL && all->failed;
}

/* -- output that waits for room below */

/* During an operation it is in the scratch memory. */
static void encodes_resume(struct encodes *all) {
    for (unsigned i = 0; i < NEST__ENCODES; i++) {
        struct encodes_one *one = &all->each[i];
        if (one->held != NULL) {
            memcpy(encodes_scratch[i], one->held, one->n);
            free(one->held);
            one->held = NULL;
            one->at = 0;
        }
    }
}

static void encodes_hold(struct encodes *all) {
    for (unsigned i = 0; i < NEST__ENCODES; i++) {
        struct encodes_one *one = &all->each[i];
        one->held = one->n > 0 && !all->failed ? malloc(one->n) : NULL;
        if (one->held != NULL) {
            memcpy(one->held, encodes_scratch[i] + one->at, one->n);
        } else if (one->n > 0 && !all->failed) {
            nest__say("no memory for encoded output: a connection ends");
            all->failed = true;
        }
    }
}

/* -- calls of functions */

static int64_t encodes_fail(struct encodes *all, unsigned i, const char *what) {
    nest__say("%%encode %s: %s: the connection ends", nest__spec_encodes[i].name, what);
    all->failed = true;
    return -ECONNRESET;
}

/* Calls function i once, whose output has been taken. How many bytes it takes; -ECONNRESET: it
 * fails. Neither to take nor to give anything counts as a failure, because it would go on forever.
 * It has heard what it is told when it has no more to give; then the next one is told. */
static int64_t encodes_run(struct encodes_call *call, unsigned i, const uint8_t *in, size_t n,
                           enum encodes_tell tell) {
    struct encodes *all = call->all;
    struct encodes_one *one = &all->each[i];
    nest_stage stage = {.in = in,
                        .in_n = n,
                        .out = encodes_scratch[i],
                        .out_n = ENCODES_ROOM,
                        .flush = tell == ENCODES_FLUSH,
                        .end = tell == ENCODES_END};
    call->runs++;
    if (nest__spec_encodes[i].run(&stage, one->state) < 0) {
        return encodes_fail(all, i, "it refuses output");
    }
    if (stage.took > n || stage.gave > ENCODES_ROOM || (n > 0 && stage.took + stage.gave == 0)) {
        return encodes_fail(all, i, "it does not take or give what it may");
    }
    one->at = 0;
    one->n = (uint32_t)stage.gave;
    one->more = stage.gave == ENCODES_ROOM;
    one->tell = stage.took == n ? (uint8_t)tell : ENCODES_NOTHING;
    if (one->tell != ENCODES_NOTHING && !one->more) {
        one->tell = ENCODES_NOTHING;
        if (i + 1 < NEST__ENCODES) {
            all->each[i + 1].tell = (uint8_t)tell;
        }
    }
    return (int64_t)stage.took;
}

/* The outermost function that has something to do, without new bytes of the queue; NEST__ENCODES:
 * none has. What lies outside it has no output that waits. */
static unsigned encodes_next(const struct encodes *all) {
    for (unsigned i = NEST__ENCODES; i-- > 0;) {
        const struct encodes_one *one = &all->each[i];
        if (one->more || one->tell != ENCODES_NOTHING || (i > 0 && all->each[i - 1].n > 0)) {
            return i;
        }
    }
    return NEST__ENCODES;
}

/* Function i goes on, with the output of the one before. 0 or -ECONNRESET. */
static int64_t encodes_step(struct encodes_call *call, unsigned i) {
    struct encodes_one *one = &call->all->each[i];
    struct encodes_one *before = i > 0 ? &call->all->each[i - 1] : NULL;
    const uint8_t *in = before != NULL ? encodes_scratch[i - 1] + before->at : encodes_input;
    enum encodes_tell tell = (enum encodes_tell)one->tell;
    int64_t took = encodes_run(call, i, in, before != NULL ? before->n : 0, tell);
    if (took > 0) {
        before->at += (uint32_t)took;
        before->n -= (uint32_t)took;
    }
    if (took >= 0 && before != NULL && before->n > 0) {
        one->tell = (uint8_t)tell; /* with the rest of its input */
    }
    return took < 0 ? took : 0;
}

/* Until all that was taken from the queue has left. 0; -EAGAIN; -ECONNRESET. */
static int64_t encodes_leave(struct encodes_call *call) {
    struct encodes_one *last = &call->all->each[NEST__ENCODES - 1];
    for (;;) {
        while (last->n > 0) {
            struct nest__out out = {.kind = NEST__OUT_BYTES,
                                    .p = encodes_scratch[NEST__ENCODES - 1] + last->at,
                                    .n = last->n};
            int64_t sent = call->below(call->chan, &out, 1, call->now);
            if (sent <= 0) {
                return sent == 0 ? -EAGAIN : sent;
            }
            call->all->given += (uint64_t)sent;
            last->at += (uint32_t)sent;
            last->n -= (uint32_t)sent;
        }
        unsigned i = encodes_next(call->all);
        if (i == NEST__ENCODES) {
            return 0;
        }
        int64_t error = call->runs < ENCODES_RUNS_MOST ? encodes_step(call, i) : -EAGAIN;
        if (error < 0) {
            return error;
        }
    }
}

/* -- operations */

/* Bytes from `at` on. How many; 0: the file has no more; -errno. */
static int64_t encodes_read(const struct encodes_source *from, uint64_t at) {
    uint64_t left = from->n - at;
    size_t n = left < ENCODES_ROOM ? (size_t)left : ENCODES_ROOM, got = 0;
    if (from->out == NULL) {
        ssize_t result;
        do {
            result = pread(from->fd, encodes_input, n, (off_t)(from->at + at));
        } while (result == -1 && errno == EINTR);
        return result == -1 ? -errno : result;
    }
    for (int i = 0; i < from->pieces && got < n; i++) {
        const struct nest__out *out = &from->out[i];
        if (at < out->n) {
            size_t some = out->n - at < n - got ? (size_t)(out->n - at) : n - got;
            memcpy(encodes_input + got, (const uint8_t *)out->p + at, some);
            got += some;
            at = 0;
        } else {
            at -= out->n;
        }
    }
    return (int64_t)got;
}

/* The last bytes are followed by a flush, so that none of them waits for later output. */
static int64_t encodes_send(struct encodes_call *call, const struct encodes_source *from) {
    struct encodes *all = call->all;
    uint64_t left = 0;
    int64_t error = encodes_leave(call);
    while (error == 0) {
        left += all->pending;
        all->pending = 0;
        if (left == from->n) {
            break;
        }
        if (call->runs >= ENCODES_RUNS_MOST) {
            error = -EAGAIN;
            break;
        }
        int64_t got = encodes_read(from, left);
        if (got <= 0) {
            return left > 0 ? (int64_t)left : got;
        }
        bool last = left + (uint64_t)got == from->n;
        error = encodes_run(call, 0, encodes_input, (size_t)got,
                            last ? ENCODES_FLUSH : ENCODES_NOTHING);
        if (error >= 0) {
            all->pending = (uint64_t)error;
            error = encodes_leave(call);
        }
    }
    return left > 0 ? (int64_t)left : error;
}

static int64_t encodes_operate(struct encodes_call *call, const struct encodes_source *from) {
    struct encodes *all = call->all;
    if (all->failed || all->said_bye) {
        return -ECONNRESET;
    }
    encodes_resume(all);
    int64_t sent = encodes_send(call, from);
    all->counted += sent > 0 ? (uint64_t)sent : 0;
    encodes_hold(all);
    return sent;
}

int64_t nest__encodes_send(const struct nest__chan *chan, const struct nest__out out[], int n,
                           bool now, nest__encodes_below *below) {
    struct encodes_call call = {.all = encodes_of(chan), .chan = chan, .below = below, .now = now};
    struct encodes_source from = {.out = out, .pieces = n};
    for (int i = 0; i < n; i++) {
        from.n += out[i].n;
    }
    return encodes_operate(&call, &from);
}

int64_t nest__encodes_send_file(const struct nest__chan *chan, int fd, uint64_t at, uint64_t n,
                                nest__encodes_below *below) {
    struct encodes_call call = {.all = encodes_of(chan), .chan = chan, .below = below, .now = true};
    const struct encodes_source from = {.fd = fd, .at = at, .n = n};
    return encodes_operate(&call, &from);
}

uint64_t nest__encodes_given(const struct nest__chan *chan, uint64_t sent) {
    const struct encodes *all = encodes_of(chan);
    return all == NULL ? sent : sent - all->counted + all->given;
}

bool nest__encodes_bye(const struct nest__chan *chan, nest__encodes_below *below) {
    struct encodes_call call = {.all = encodes_of(chan), .chan = chan, .below = below, .now = true};
    struct encodes *all = call.all;
    if (all == NULL || all->failed) {
        return true;
    }
    if (!all->said_bye) {
        all->said_bye = true;
        all->each[0].tell = ENCODES_END;
    }
    encodes_resume(all);
    int64_t error = encodes_leave(&call);
    encodes_hold(all);
    return error != -EAGAIN || all->failed;
}
