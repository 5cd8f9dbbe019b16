/* uring.c: a poller whose operations are those of io_uring.
 *
 * See poller.h. State: this process's listeners and sources, and the buffer that is lent. Must not
 * know the language, nor what a session does.
 *
 * Everything that a step submits goes to the kernel with the next sleep, in one system call.
 * A receive is one operation and takes a buffer only when bytes have come, so an idle connection
 * has none. It is not cancelled when its channel awaits something else: what it brings is kept.
 * Large output and files are sent at once, without the ring: it would copy no less, and an action
 * that sends much would wait for each piece. So are last answers: the session ends at once. */
#include "../channel/channel.h"
#include "../platform/platform.h"
#include "../service/processors/processors.h"
#include "direct.h"
#include "early.h"
#include "system.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { URING_DIRECT = 16 * 1024 }; /* so many queued bytes are sent at once */

/* nest__chan.io: which operations of the channel the ring has, and more. */
enum {
    URING_RECEIVE = 1,
    URING_SEND = 2,
    URING_POLL = 4, /* for errors, or: */
    URING_POLL_IN = 8,
    URING_POLL_OUT = 16,
    URING_CANCEL = 32, /* the poll is cancelled */
    URING_KEPT = 64,   /* input is kept */
    URING_CLOSE = 128, /* it closes when all operations have completed */
    URING_OPERATIONS = URING_RECEIVE | URING_SEND | URING_POLL
};
/* Operations that only this poller knows. */
enum {
    URING_GIVE = NEST__OP_MAIL + 1, /* kept input is awaited */
    URING_NOBODY = 15,              /* of no interest */
    URING_NO_BUFFER = -1
};
_Static_assert((int)URING_GIVE < (int)URING_NOBODY, "operations have numbers of their own");
_Static_assert((int)NEST__RING_VECTORS == (int)NEST__CHAN_VECTORS, "one send takes all pieces");

static struct {
    struct nest__source sources[NEST__SOURCES];
    unsigned source_count;
    bool waits[NEST__SOURCES]; /* the ring has a poll of it */
    bool listens;              /* connections are to be accepted */
    bool polls[NEST__LISTEN_MAX], retired[NEST__LISTEN_MAX];
    int lent;           /* the buffer that is lent for this step */
    uint32_t completed; /* by the last sleep */
} uring;

#define URING_NAMELESS nest__name_of_loop((enum nest__operation)URING_NOBODY, 0)

/* Ends the poll. If something is awaited then, it is asked for again. */
static void uring_unpoll(const nest_session *s, struct nest__chan *chan) {
    if ((chan->io & URING_CANCEL) == 0) {
        nest__ring_cancel(nest__name_of(s, chan, NEST__OP_WATCH), URING_NAMELESS);
        chan->io |= URING_CANCEL;
    }
}

/* Polls the channel's descriptor; one poll at a time. Errors are told once: a channel that minds
 * the end of input may not have done so yet when it was told. */
static bool uring_ready(const nest_session *s, struct nest__chan *chan, uint8_t what) {
    if ((chan->io & URING_POLL) != 0) {
        bool minds = what == 0 && (chan->state & NEST__CHAN_MINDS) != 0;
        if (minds || (chan->io & (URING_POLL_IN | URING_POLL_OUT)) != what) {
            uring_unpoll(s, chan);
        }
        return true;
    }
    uint32_t errors = nest__further_is(1) ? POLLRDHUP : 0;
    uint32_t events = ((what & URING_POLL_IN) != 0 ? POLLIN : 0u) |
                      ((what & URING_POLL_OUT) != 0 ? POLLOUT : 0u) | (what == 0 ? errors : 0u);
    int fd = nest__chan_descriptor(chan, what == URING_POLL_OUT);
    if (!nest__ring_poll(fd, events, what == 0, nest__name_of(s, chan, NEST__OP_WATCH))) {
        return false;
    }
    chan->io |= URING_POLL | what;
    return true;
}

static bool uring_receive(const nest_session *s, struct nest__chan *chan) {
    if (nest__chan_apart(chan)) { /* what was kept before it was apart is not for it */
        return uring_ready(s, chan, nest__chan_eager(chan) ? URING_POLL_OUT : URING_POLL_IN);
    }
    if ((chan->io & URING_KEPT) != 0) {
        uint64_t name = nest__name_of(s, chan, (enum nest__operation)URING_GIVE);
        return nest__ring_submit(NEST__SQE_NOTHING, -1, name) != NULL;
    }
    if ((chan->io & URING_RECEIVE) != 0) {
        return true;
    }
    struct nest__sqe *sqe =
        nest__ring_submit(NEST__SQE_RECEIVE, chan->fd, nest__name_of(s, chan, NEST__OP_RECEIVE));
    if (sqe == NULL) {
        return false;
    }
    sqe->flags = NEST__SQE_BUFFER;
    sqe->ioprio = NEST__SQE_POLL_FIRST; /* mostly, the client has yet to read the reply */
    chan->io |= URING_RECEIVE;
    return true;
}

static bool uring_awaits(const struct nest__chan *chan, enum nest__await what) {
    return chan->awaits == what || chan->awaits == NEST__AWAIT_BOTH ||
           (what == NEST__AWAIT_OUTPUT && chan->awaits == NEST__AWAIT_LEFT_BOTH);
}

bool nest__poller_await(nest_session *s, struct nest__chan *chan, enum nest__await what) {
    if (what >= NEST__AWAIT_LEFT && (chan->io & (URING_RECEIVE | URING_KEPT)) != 0) {
        what = what == NEST__AWAIT_LEFT ? NEST__AWAIT_INPUT : NEST__AWAIT_BOTH;
    }
    chan->awaits = what;
    switch (what) {
    case NEST__AWAIT_INPUT:
        return uring_receive(s, chan);
    case NEST__AWAIT_OUTPUT:
        return (chan->io & URING_SEND) != 0 || uring_ready(s, chan, URING_POLL_OUT);
    case NEST__AWAIT_BOTH: /* of a pair of descriptors, one is polled */
        if (!nest__chan_shared(chan) && nest__chan_apart(chan)) {
            return uring_ready(s, chan,
                               nest__chan_blocked(chan) ? URING_POLL_OUT
                                                        : URING_POLL_IN | URING_POLL_OUT);
        }
        return (nest__chan_shared(chan) || uring_receive(s, chan)) &&
               ((chan->io & URING_SEND) != 0 || uring_ready(s, chan, URING_POLL_OUT));
    case NEST__AWAIT_LEFT_BOTH: /* the end of a send is told, too */
        return uring_ready(s, chan,
                           URING_POLL_IN | ((chan->io & URING_SEND) != 0 ? 0 : URING_POLL_OUT));
    case NEST__AWAIT_LEFT:
    case NEST__AWAIT_READY:
        return uring_ready(s, chan, URING_POLL_IN);
    case NEST__AWAIT_ERRORS:
        return (chan->io & (URING_RECEIVE | URING_SEND)) != 0 || uring_ready(s, chan, 0);
    case NEST__AWAIT_NOTHING:
        break;
    }
    return true;
}

/* -- output */

int nest__push(nest_session *s, struct nest__chan *chan) {
    struct nest__out out[NEST__CHAN_VECTORS];
    if ((chan->io & URING_SEND) != 0) {
        return 0;
    }
    int pieces = nest__out_next(s, chan, out, NEST__CHAN_VECTORS);
    if (pieces == 0) {
        return 0;
    }
    bool direct = out[0].kind != NEST__OUT_BYTES || (chan->state & NEST__CHAN_AHEAD) != 0 ||
                  nest__out_queued(s, chan) >= URING_DIRECT || s->phase == NEST__ENDED ||
                  nest__chan_apart(chan);
    struct msghdr *message = direct || pieces == 1 ? NULL : nest__ring_message();
    if (direct || (pieces > 1 && message == NULL)) {
        return nest__direct_push(s, chan);
    }
    struct nest__sqe *sqe = nest__ring_submit(pieces == 1 ? NEST__SQE_SEND : NEST__SQE_SENDMSG,
                                              chan->fd, nest__name_of(s, chan, NEST__OP_SEND));
    if (sqe == NULL) {
        return nest__direct_push(s, chan);
    }
    uint64_t all = 0;
    for (int i = 0; i < pieces; i++) {
        all += out[i].n;
        if (message != NULL) {
            message->msg_iov[message->msg_iovlen++] =
                (struct iovec){(void *)(uintptr_t)out[i].p, (size_t)out[i].n};
        }
    }
    sqe->address = message == NULL ? (uintptr_t)out[0].p : (uintptr_t)message;
    sqe->length = message == NULL ? (uint32_t)all : 1;
    sqe->how = MSG_NOSIGNAL;
    chan->io |= URING_SEND;
    nest__out_taken(s, chan, all);
    return 0;
}

int64_t nest__send_file(nest_session *s, struct nest__chan *chan, int fd, uint64_t at, uint64_t n) {
    (void)s;
    return (chan->io & URING_SEND) != 0 ? -EAGAIN : nest__direct_send_file(chan, fd, at, n);
}

/* -- input */

static void uring_give_back(int buffer) {
    if (buffer != URING_NO_BUFFER) {
        nest__ring_give((uint32_t)buffer);
    }
}

/* Nobody awaits what was received, now. */
static void uring_keep(const nest_session *s, struct nest__chan *chan, const void *p, int64_t n) {
    bool ended = n <= 0;
    if (nest__early_put(s, chan, p, ended ? 0 : (uint32_t)n, ended, (int32_t)n) == 0) {
        chan->io |= URING_KEPT;
    } else {
        if (!nest__moved(s)) { /* else its action may write this; the end of input says it then */
            chan->state |= NEST__CHAN_CUT; /* bytes of it are lost */
        }
        (void)shutdown(chan->fd, SHUT_RDWR);
    }
}

/* A receive has completed with n > 0 bytes in a buffer: lends as many as there is room for. */
static int64_t uring_lend(nest_session *s, struct nest__chan *chan, int buffer, int64_t n,
                          bool more, struct nest__window *window) {
    uint8_t *p, *bytes = nest__ring_buffer((uint32_t)buffer);
    uint32_t room = nest__receive_space(s, chan, &p);
    if (n > room) {
        uring_keep(s, chan, bytes + room, n - room);
        n = room;
        more = true;
    }
    uring_give_back(uring.lent); /* what was lent before is not used any more */
    uring.lent = buffer;
    *window = (struct nest__window){.p = bytes, .n = (uint32_t)n, .lent = true};
    nest__chan_received(chan, more);
    return n;
}

/* Hands over kept input. */
static int64_t uring_give(nest_session *s, struct nest__chan *chan, struct nest__window *window) {
    struct nest__early *early = nest__early_of(s, chan);
    int64_t n = early->end;
    if (!early->ended) {
        uint32_t room = nest__receive_space(s, chan, &window->p);
        n = early->n < room ? early->n : room;
        window->lent = window->p == NULL;
        window->p = window->lent ? nest__direct_buffer : window->p;
        window->n = (uint32_t)n;
        memcpy(window->p, early->bytes + early->at, (size_t)n);
        early->at += (uint32_t)n;
        early->n -= (uint32_t)n;
        nest__chan_received(chan, true);
    }
    if (early->n == 0) {
        nest__early_drop(s, chan);
        chan->io &= (uint8_t)~URING_KEPT;
    }
    return n;
}

static int uring_buffer(const struct nest__cqe *cqe) {
    return (cqe->flags & NEST__CQE_BUFFER) != 0 ? (int)(cqe->flags >> NEST__CQE_SHIFT)
                                                : URING_NO_BUFFER;
}

int64_t nest__poller_receive(nest_session *s, struct nest__chan *chan,
                             struct nest__window *window) {
    struct nest__cqe cqe;
    if (nest__chan_apart(chan)) {
        return nest__direct_receive(s, chan, window);
    }
    if ((chan->io & URING_KEPT) != 0) {
        return uring_give(s, chan, window);
    }
    /* Between two calls of the kernel the ring receives nothing: what it has is in its queue. */
    if ((chan->io & URING_RECEIVE) != 0 &&
        nest__ring_take(nest__name_of(s, chan, NEST__OP_RECEIVE), &cqe)) {
        int64_t n = nest__ring_received(&cqe);
        chan->io &= (uint8_t)~URING_RECEIVE;
        if (n > 0) {
            return uring_lend(s, chan, uring_buffer(&cqe), n, (cqe.flags & NEST__CQE_NONEMPTY) != 0,
                              window);
        }
        uring_give_back(uring_buffer(&cqe));
        if (n != -EAGAIN) {
            return n;
        }
    }
    return nest__direct_receive(s, chan, window);
}

bool nest__received_ahead(const struct nest__chan *chan) {
    return (chan->io & (URING_RECEIVE | URING_KEPT)) != 0;
}

/* -- completions of channels */

/* While its session is in the ready list, or is moved, nothing completes. */
static bool uring_turn(nest_session *s, const struct nest__chan *chan) {
    return nest__moved(s) || ((s->flags & NEST__READY) != 0 && chan == nest__served(s));
}

static bool uring_done(struct nest__completion *done, const nest_session *s,
                       const struct nest__chan *chan, enum nest__operation operation,
                       int64_t result) {
    done->name = nest__name_of(s, chan, operation);
    done->result = result;
    return true;
}

/* An operation has completed that nobody awaits, or in vain. */
static bool uring_again(nest_session *s, struct nest__chan *chan, struct nest__completion *done) {
    if (nest__poller_await(s, chan, (enum nest__await)chan->awaits) || uring_turn(s, chan)) {
        return false;
    }
    enum nest__operation operation = chan->awaits == NEST__AWAIT_INPUT    ? NEST__OP_RECEIVE
                                     : chan->awaits == NEST__AWAIT_OUTPUT ? NEST__OP_SEND
                                                                          : NEST__OP_WATCH;
    return uring_done(done, s, chan, operation, -ECONNRESET); /* no memory to wait with */
}

/* An operation of a channel that is being closed has completed. */
static bool uring_closed(nest_session *s, struct nest__chan *chan, struct nest__completion *done) {
    return (chan->io & URING_OPERATIONS) == 0 && uring_done(done, s, chan, NEST__OP_CLOSE, 0);
}

/* Input is there, and the ring has not received it. */
static bool uring_try(nest_session *s, struct nest__chan *chan, struct nest__completion *done) {
    int64_t n = nest__direct_receive(s, chan, &done->window);
    return n == -EAGAIN ? uring_again(s, chan, done)
                        : uring_done(done, s, chan, NEST__OP_RECEIVE, n);
}

static bool uring_received(nest_session *s, struct nest__chan *chan, const struct nest__cqe *cqe,
                           struct nest__completion *done) {
    int buffer = uring_buffer(cqe);
    int64_t n = nest__chan_apart(chan) ? -ECONNRESET : nest__ring_received(cqe); /* bytes lost */
    chan->io &= (uint8_t)~URING_RECEIVE;
    if ((chan->io & URING_CLOSE) != 0) {
        uring_give_back(buffer);
        return uring_closed(s, chan, done);
    }
    bool awaited = uring_awaits(chan, NEST__AWAIT_INPUT) && !uring_turn(s, chan);
    if (n == -EAGAIN) { /* of a crowd: other input fills the buffers */
        return awaited ? uring_try(s, chan, done) : uring_again(s, chan, done);
    }
    if (awaited) {
        if (n > 0) {
            bool more = (cqe->flags & NEST__CQE_NONEMPTY) != 0;
            n = uring_lend(s, chan, buffer, n, more, &done->window);
        } else {
            uring_give_back(buffer);
        }
        return uring_done(done, s, chan, NEST__OP_RECEIVE, n);
    }
    uring_keep(s, chan, n > 0 ? nest__ring_buffer((uint32_t)buffer) : NULL, n);
    uring_give_back(buffer);
    bool errors = chan->awaits == NEST__AWAIT_ERRORS; /* else the state may be another thread's */
    bool minds = errors && n == 0 && (chan->state & NEST__CHAN_MINDS) != 0;
    if (errors && (n < 0 || minds) && !uring_turn(s, chan)) {
        return uring_done(done, s, chan, NEST__OP_WATCH, -ECONNRESET);
    }
    return errors && uring_again(s, chan, done);
}

static bool uring_sent(nest_session *s, struct nest__chan *chan, const struct nest__cqe *cqe,
                       struct nest__completion *done) {
    chan->io &= (uint8_t)~URING_SEND;
    if (cqe->result > 0) {
        nest__loop_spend((uint64_t)cqe->result);
        nest__chan_sent(chan);
    }
    nest__out_sent(s, chan, cqe->result > 0 ? (uint64_t)cqe->result : 0);
    if ((chan->io & URING_CLOSE) != 0) {
        return uring_closed(s, chan, done);
    }
    bool again = cqe->result >= 0 || cqe->result == -EINTR || cqe->result == -EAGAIN;
    int64_t result = again ? 0 : -ECONNRESET;
    if (!uring_turn(s, chan)) {
        if (uring_awaits(chan, NEST__AWAIT_OUTPUT)) {
            return uring_done(done, s, chan, NEST__OP_SEND, result);
        }
        if (result < 0 && chan->awaits == NEST__AWAIT_ERRORS) {
            return uring_done(done, s, chan, NEST__OP_WATCH, result);
        }
    }
    return chan->awaits == NEST__AWAIT_ERRORS && uring_again(s, chan, done);
}

static bool uring_polled(nest_session *s, struct nest__chan *chan, const struct nest__cqe *cqe,
                         struct nest__completion *done) {
    uint8_t what = chan->io & (URING_POLL_IN | URING_POLL_OUT);
    bool more = (cqe->flags & NEST__CQE_MORE) != 0;
    if (!more) {
        chan->io &= (uint8_t) ~(URING_POLL | URING_POLL_IN | URING_POLL_OUT | URING_CANCEL);
    }
    if ((chan->io & URING_CLOSE) != 0) {
        return uring_closed(s, chan, done);
    }
    bool turn = uring_turn(s, chan);
    if (what == 0 && more && (turn || chan->awaits != NEST__AWAIT_ERRORS)) {
        uring_unpoll(s, chan); /* nobody hears it now: who awaits it later polls again */
    }
    if (turn) {
        return false;
    }
    bool free = (chan->io & (URING_RECEIVE | URING_KEPT)) == 0; /* nothing was received before */
    if (what == (URING_POLL_IN | URING_POLL_OUT) && chan->awaits == NEST__AWAIT_BOTH && free &&
        cqe->result > 0) {
        return nest__direct_both(s, chan, (uint32_t)cqe->result, done) ||
               uring_again(s, chan, done);
    }
    uint32_t errors = POLLERR | ((chan->state & NEST__CHAN_MINDS) != 0 ? (uint32_t)POLLRDHUP : 0);
    bool error = cqe->result > 0 && ((uint32_t)cqe->result & errors) != 0;
    bool input = (what & URING_POLL_IN) != 0 || (NEST__CHAN_LAYERS && what == URING_POLL_OUT);
    if (input && free && chan->awaits == NEST__AWAIT_INPUT) {
        return uring_try(s, chan, done);
    }
    bool awaited = (what & URING_POLL_OUT) != 0 ? uring_awaits(chan, NEST__AWAIT_OUTPUT)
                                                : what != 0 && chan->awaits >= NEST__AWAIT_READY;
    if (awaited && cqe->result != -ECANCELED) {
        return uring_done(done, s, chan, NEST__OP_SEND, 0);
    }
    if (error && chan->awaits == NEST__AWAIT_ERRORS) {
        return uring_done(done, s, chan, NEST__OP_WATCH, -ECONNRESET);
    }
    return !more && uring_again(s, chan, done);
}

static bool uring_of_channel(const struct nest__cqe *cqe, struct nest__completion *done) {
    struct nest__chan *chan;
    nest_session *s = nest__named(cqe->name, &chan);
    if (s == NULL) {
        return false; /* kept input of one that is gone */
    }
    switch ((int)nest__name_operation(cqe->name)) {
    case NEST__OP_RECEIVE:
        return uring_received(s, chan, cqe, done);
    case NEST__OP_SEND:
        return uring_sent(s, chan, cqe, done);
    case NEST__OP_WATCH:
        return uring_polled(s, chan, cqe, done);
    default: /* URING_GIVE */
        if ((chan->io & (URING_KEPT | URING_CLOSE)) != URING_KEPT || uring_turn(s, chan) ||
            !uring_awaits(chan, NEST__AWAIT_INPUT) || nest__chan_apart(chan)) {
            return false;
        }
        done->result = uring_give(s, chan, &done->window);
        return uring_done(done, s, chan, NEST__OP_RECEIVE, done->result);
    }
}

bool nest__poller_pending(const nest_session *s, const struct nest__chan *chan) {
    bool output = chan->awaits == NEST__AWAIT_OUTPUT || nest__chan_blocked(chan);
    if (!output && (chan->io & URING_KEPT) != 0 && !nest__chan_apart(chan)) {
        return true;
    }
    uint8_t operation = output ? URING_SEND : URING_RECEIVE;
    if ((chan->io & operation) != 0 &&
        nest__ring_has(nest__name_of(s, chan, output ? NEST__OP_SEND : NEST__OP_RECEIVE))) {
        return true;
    }
    /* One call of the kernel completes only some of the operations that are ready. */
    return nest__poll_now(nest__chan_descriptor(chan, output), output ? POLLOUT : POLLIN) != 0;
}

/* -- closing */

static void uring_cancel_all(const nest_session *s, const struct nest__chan *chan) {
    static const struct {
        uint8_t io, operation;
    } all[] = {{URING_RECEIVE, NEST__OP_RECEIVE},
               {URING_SEND, NEST__OP_SEND},
               {URING_POLL, NEST__OP_WATCH}};
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
        if ((chan->io & all[i].io) != 0) {
            nest__ring_cancel(nest__name_of(s, chan, (enum nest__operation)all[i].operation),
                              URING_NAMELESS);
        }
    }
}

bool nest__poller_close(nest_session *s, struct nest__chan *chan) {
    bool busy = (chan->io & URING_OPERATIONS) != 0;
    if ((chan->io & URING_KEPT) != 0) {
        nest__early_drop(s, chan);
        chan->io &= (uint8_t)~URING_KEPT;
    }
    chan->awaits = NEST__AWAIT_NOTHING;
    if (busy) {
        uring_cancel_all(s, chan);
        chan->io |= URING_CLOSE;
    }
    bool here = nest__chan_apart(chan) || (chan->state & NEST__CHAN_CUT) != 0;
    if (here || !nest__ring_close(chan->fd, URING_NAMELESS)) {
        nest__chan_close(chan);
    }
    return !busy;
}

/* -- listeners */

int nest__poller_arm(bool on) {
    uring.listens = on;
    for (unsigned i = 0; i < nest__listener_count; i++) {
        if (!on && uring.polls[i]) {
            nest__ring_cancel(nest__name_of_loop(NEST__OP_ACCEPT, i), URING_NAMELESS);
        }
    }
    return 0;
}

void nest__poller_retire(unsigned listener) {
    uring.retired[listener] = true;
}

/* -- steps */

static bool uring_of_loop(const struct nest__cqe *cqe, struct nest__completion *done) {
    enum nest__operation operation = nest__name_operation(cqe->name);
    uint32_t which = nest__name_gen(cqe->name);
    *done = (struct nest__completion){.name = nest__name_of_loop(operation, 0)};
    if (operation == NEST__OP_ACCEPT) {
        uring.polls[which] = false;
        done->name = cqe->name;
        return uring.listens && !uring.retired[which] &&
               (cqe->result > 0 || cqe->result == -EBADF); /* nest__take reports that one */
    }
    if ((int)operation == URING_NOBODY) {
        return false;
    }
    uring.waits[which] = (cqe->flags & NEST__CQE_MORE) != 0;
    done->result = nest__source_result(operation);
    return true;
}

bool nest__poller_next(struct nest__completion *done) {
    struct nest__cqe cqe;
    while (nest__ring_next(&cqe)) {
        bool loop = nest__name_slot(cqe.name) == NEST__NAME_SLOTS;
        if (loop ? uring_of_loop(&cqe, done) : uring_of_channel(&cqe, done)) {
            return true;
        }
    }
    return false;
}

void nest__poller_step(void) {
    nest__clock_step();
    uring_give_back(uring.lent);
    uring.lent = URING_NO_BUFFER;
}

uint32_t nest__poller_completed(void) {
    return uring.completed;
}

uint32_t nest__poller_clients(void) {
    return nest__ring_count_without(nest__name(0, NEST__NAME_SLOTS, 0, 0));
}

void nest__poller_sleep(bool look) {
    for (unsigned i = 0; i < nest__listener_count && uring.listens; i++) {
        unsigned at = nest__accept_turn(i, nest__listener_count);
        if (!uring.polls[at] && !uring.retired[at]) {
            uring.polls[at] = nest__ring_poll(nest__listeners[at].fd, POLLIN, false,
                                              nest__name_of_loop(NEST__OP_ACCEPT, at));
        }
    }
    for (unsigned i = 0; i < uring.source_count; i++) {
        if (!uring.waits[i]) {
            uint8_t operation = uring.sources[i].operation;
            uring.waits[i] =
                nest__ring_poll(uring.sources[i].fd, POLLIN, nest__source_unread(operation),
                                nest__name_of_loop((enum nest__operation)operation, i));
        }
    }
    nest__ring_enter(!look);
    uring.completed = nest__ring_count();
}

/* -- the beginning */

int nest__poller_prepare(uint32_t *most) {
    const char *refusal = nest__ring_refusal();
    if (refusal != NULL) {
        nest__say("cannot use io_uring: %s; %s", refusal,
                  NEST__FALLBACK ? "epoll serves in its place"
                                 : "choose eventServer, or write uringServer N fallback");
        return -EOPNOTSUPP;
    }
    return nest__system_prepare(most);
}

unsigned nest__poller_needs(struct nest__need needs[]) {
    uint64_t each = sizeof(struct nest__early) + NEST__RING_BUFFER;
    uint64_t channels = nest__further_is(1) ? 1 + NEST__FURTHER : 1;
    needs[0] = (struct nest__need){"input that came early", NULL, channels * each, each};
    return 1;
}

int nest__poller_start(void) {
    uring.lent = URING_NO_BUFFER;
    int error = nest__system_start(uring.sources, &uring.source_count);
    error = error == 0 ? nest__early_begin() : error;
    return error == 0 ? nest__ring_open() : error;
}
