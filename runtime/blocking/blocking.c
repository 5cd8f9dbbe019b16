/* blocking.c: serves one connection with calls that wait.
 *
 * Called by workers/process.c and workers/thread.c; the engine enters at nest__wait and nest__push.
 * State: the phase of the stop and what wakes, of the process; whether the stop cut this worker's
 * connection. A warm request costs a receive and a send. Must not know the language, nor who else
 * is served. */
#include "blocking.h"
#include "../channel/channel.h"
#include "../platform/platform.h"
#include "../service/filters/filters.h"
#include "../service/filters/returns.h"
#include "../service/proxied/proxied.h"
#include "channels.h"
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

_Atomic int nest__stop;
int nest__wake_fd = -1;
static _Thread_local bool blocking_was_cut;

uint32_t nest__now(void) {
    return (uint32_t)nest__clock_coarse_ms();
}

uint32_t nest__clock(void) {
    return nest__now();
}

bool nest__stopping(void) {
    return atomic_load(&nest__stop) != NEST__SERVING;
}

static bool blocking_cut(void) {
    return atomic_load(&nest__stop) >= NEST__CUTTING;
}

/* -- waiting -------------------------------------------------------------------------------------
 */

void nest__wake_receiver(int fd) {
    int flags = fcntl(fd, F_GETFL);
    if (flags != -1) {
        (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    }
}

/* Before the worker looks at what it was woken for: later rousing is not lost. */
static void blocking_settle(int fd) {
    int flags = fcntl(fd, F_GETFL);
    if (flags != -1 && (flags & O_NONBLOCK) != 0) {
        (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    }
}

int nest__blocking_left(uint32_t deadline) {
    uint32_t now = nest__now();
    return deadline == 0 ? -1 : nest__reached(deadline, now) ? 0 : (int)(deadline - now);
}

/* Waits until the descriptor has one of `events` (errors always count), at most until the deadline;
 * 0: none. What it has; 0: the time is over; -EINTR: woken, or for no reason. */
static int blocking_poll(int fd, short events, uint32_t deadline) {
    struct pollfd ready[2] = {{.fd = fd, .events = events},
                              {.fd = nest__wake_fd, .events = POLLIN}};
    int n = poll(ready, nest__wake_fd == -1 ? 1 : 2, nest__blocking_left(deadline));
    if (n == 0) {
        return 0;
    }
    if (n > 0 && ready[0].revents != 0) {
        return ready[0].revents;
    }
    if (n > 0) {
        uint64_t count;
        (void)!read(nest__wake_fd, &count, sizeof count);
    }
    return -EINTR;
}

/* -- output --------------------------------------------------------------------------------------
 */

/* Before a call that has no flag for it: it must not wait. The next receive finds that it was not
 * woken. */
static void blocking_unblock(const struct nest__chan *chan) {
    if (!nest__chan_shared(chan)) {
        nest__wake_receiver(chan->fd);
    }
}

/* One send of what is queued. 0, -EAGAIN, -ECONNRESET. */
static int blocking_send(nest_session *s, struct nest__chan *chan) {
    struct nest__out out[NEST__CHAN_VECTORS];
    int n = nest__out_next(s, chan, out, NEST__CHAN_VECTORS);
    if (n == 0) {
        return 0;
    }
    if (out[0].kind == NEST__OUT_FILE) {
        blocking_unblock(chan);
    }
    int64_t sent = nest__chan_send_out(chan, out, n, NEST__CHAN_NOW);
    if (NEST__SPLICES && sent == -EOPNOTSUPP) {
        return nest__out_copy(s, chan) < 0 ? -ECONNRESET : 0;
    }
    if (sent < 0) {
        return (int)sent;
    }
    nest__chan_sent(chan);
    nest__out_sent(s, chan, (uint64_t)sent);
    return 0;
}

/* Until at most `mark` bytes are queued, within the deadline of the wait, or, without one, of the
 * session. 0, -ECONNRESET, -ETIMEDOUT, -ECANCELED. */
static int blocking_drain(nest_session *s, struct nest__chan *chan, uint64_t mark,
                          const struct nest__wait *wait) {
    for (;;) {
        int error = 0;
        while (error == 0 && nest__out_queued(s, chan) > mark) {
            error = blocking_send(s, chan);
        }
        if (error != -EAGAIN) {
            return error != 0 && blocking_cut() ? -ECANCELED : error;
        }
        if (blocking_cut()) {
            return -ECANCELED;
        }
        uint32_t deadline = wait != NULL ? wait->deadline : (s->until.deadline = nest__deadline(s));
        if (blocking_poll(nest__chan_descriptor(chan, true), POLLOUT, deadline) == 0 &&
            nest__reached(deadline, nest__now())) {
            return -ETIMEDOUT;
        }
    }
}

bool nest__received_ahead(const struct nest__chan *chan) {
    (void)chan;
    return false;
}

int nest__push(nest_session *s, struct nest__chan *chan) {
    int error = 0;
    while (error == 0 && nest__out_queued(s, chan) > 0) {
        error = blocking_send(s, chan);
    }
    return error == -EAGAIN ? 0 : error;
}

int64_t nest__send_file(nest_session *s, struct nest__chan *chan, int fd, uint64_t at, uint64_t n) {
    (void)s;
    blocking_unblock(chan);
    int64_t sent = nest__chan_send_file(chan, fd, at, n);
    if (sent > 0) {
        nest__chan_sent(chan);
    }
    return sent;
}

/* -- input ---------------------------------------------------------------------------------------
 */

enum blocking_mode { BLOCKING_WAIT, BLOCKING_LOOK };

/* Of a worker that nobody watches. */
static int64_t blocking_minded(const struct nest__chan *chan, uint8_t *p, uint32_t room,
                               uint32_t deadline, enum blocking_mode mode) {
    uint32_t now = nest__after(nest__now(), 0);
    if (nest__chan_eager(chan)) {
        return nest__chan_receive(chan, p, room, NEST__CHAN_NOW);
    }
    int ready = blocking_poll(chan->fd, POLLIN, mode == BLOCKING_LOOK ? now : deadline);
    /* of what is encrypted, a part may be missing */
    return ready <= 0 ? -EAGAIN
                      : nest__chan_receive(chan, p, room,
                                           NEST__CHAN_LAYERS ? NEST__CHAN_NOW : NEST__CHAN_PLAIN);
}

/* How many bytes; 0: end of file; -EAGAIN: none yet, woken or late; -ECONNRESET. */
static int64_t blocking_receive(struct nest__chan *chan, uint8_t *p, uint32_t room,
                                uint32_t deadline, enum blocking_mode mode) {
    struct nest__deadline_slot *slot = nest__deadline_slot();
    int64_t n;
    if (nest__chan_blocked(chan)) {
        uint32_t now = nest__after(nest__now(), 0);
        (void)blocking_poll(chan->fd, POLLOUT, mode == BLOCKING_LOOK ? now : deadline);
        n = nest__chan_receive(chan, p, room, NEST__CHAN_NOW);
    } else if (slot == NULL) {
        n = blocking_minded(chan, p, room, deadline, mode);
    } else if (mode == BLOCKING_LOOK) {
        n = nest__chan_receive(chan, p, room, NEST__CHAN_NOW);
    } else {
        nest__watch_begin(slot, deadline);
        n = nest__chan_receive(chan, p, room, NEST__CHAN_PLAIN);
        nest__watch_end(slot);
    }
    if (n > 0) {
        nest__chan_received(chan, (uint32_t)n == room);
    } else if (n == -EAGAIN) {
        nest__chan_received(chan, false);
        if (slot != NULL) {
            blocking_settle(chan->fd);
        }
    }
    return n == -EINTR ? -EAGAIN : n;
}

uint32_t nest__lease(void) {
    return nest__receive_capacity();
}

/* -- waits of actions ----------------------------------------------------------------------------
 */

static int blocking_input(const struct nest__wait *wait) {
    for (;;) {
        int64_t n =
            blocking_receive(wait->chan, wait->into, wait->room, wait->deadline, BLOCKING_WAIT);
        if (n > 0) {
            return (int)n;
        }
        if (blocking_cut()) {
            return -ECANCELED;
        }
        if (n == 0) {
            wait->chan->state |= NEST__CHAN_EOF;
        }
        if (n != -EAGAIN) {
            return (int)n;
        }
        if (wait->deadline != 0 && nest__reached(wait->deadline, nest__now())) {
            return -ETIMEDOUT;
        }
    }
}

/* Output leaves meanwhile. A client that closed its half is still there. */
static int blocking_sleep(nest_session *s, const struct nest__wait *wait) {
    struct nest__chan *chan = wait->chan;
    for (;;) {
        bool queued = nest__out_queued(s, chan) > 0;
        short events = (short)((queued ? POLLOUT : 0) | nest__blocking_errors(chan));
        int ready = blocking_poll(nest__chan_descriptor(chan, true), events, wait->deadline);
        if (blocking_cut()) {
            return -ECANCELED;
        }
        if (ready == 0) {
            return 0;
        }
        if (ready > 0 && (ready & (POLLERR | POLLHUP | POLLRDHUP)) != 0) {
            return -ECONNRESET;
        }
        if (ready > 0 && nest__push(s, chan) != 0) {
            return -ECONNRESET;
        }
    }
}

static int blocking_wait(nest_session *s, const struct nest__wait *wait) {
    int error;
    switch (wait->what) {
    case NEST__DRAINED:
        return blocking_drain(s, wait->chan, wait->mark, wait);
    case NEST__INPUT:
        error = blocking_drain(s, wait->chan, 0, wait);
        return error != 0 ? error : blocking_input(wait);
    case NEST__TIME:
        error = nest__push(s, wait->chan);
        return error != 0 ? error : blocking_sleep(s, wait);
    case NEST__WORK:
        (void)nest__push(s, wait->chan); /* its failure is found by the next directive */
        return wait->work(wait->arg);
    case NEST__ANY: /* channels.c */
        break;
    }
    return 0;
}

int nest__wait(nest_session *s, const struct nest__wait *wait) {
    bool stopping = nest__stopping();
    int result;
    if (!nest__several_wait(s, wait, &result)) {
        result = blocking_wait(s, wait);
    }
    if (!stopping && nest__stopping()) { /* it waits for nothing behind this message */
        (void)nest__event(s, NEST__EVENT_DRAIN);
    }
    blocking_was_cut = blocking_was_cut || (wait->what != NEST__WORK && result == -ECANCELED);
    return result;
}

/* -- a connection's life -------------------------------------------------------------------------
 */

static unsigned blocking_told(nest_session *s, int error) {
    switch (error) {
    case -ETIMEDOUT:
        return nest__event(s, NEST__EVENT_EXPIRED);
    case -ECANCELED:
        blocking_was_cut = true;
        return nest__event(s, NEST__EVENT_CUT);
    default:
        return nest__event(s, NEST__EVENT_RESET);
    }
}

/* The next bytes, behind what the session keeps or into the buffer. The buffer is free: the session
 * owns what it has not read. */
static unsigned blocking_next(nest_session *s, struct nest__window *window, uint8_t *buffer,
                              enum blocking_mode mode) {
    uint32_t room = nest__in_space(s, &s->c0, &window->p);
    window->lent = room == 0;
    if (window->lent) {
        window->p = buffer;
        room = nest__receive_capacity();
    }
    room = NEST__RETURNS ? nest__filters_room(s, room) : room;
    s->until.deadline = nest__deadline(s);
    if (mode == BLOCKING_WAIT) {
        nest__several_attend(s, s->until.deadline);
    }
    int64_t n = blocking_receive(&s->c0, window->p, room, s->until.deadline, mode);
    if (n > 0) {
        window->n = (uint32_t)n;
        if (NEST__RETURNS) {
            nest__filters_received(s, window->n);
        }
        return nest__pump(s, &s->c0, window);
    }
    *window = (struct nest__window){0};
    if (blocking_cut()) {
        return NEST__WANT_READ; /* an end that the stop has made */
    }
    if (n == 0) {
        return nest__event(s, NEST__EVENT_EOF);
    }
    if (n != -EAGAIN) {
        return nest__event(s, NEST__EVENT_RESET);
    }
    return s->until.deadline != 0 && nest__reached(s->until.deadline, nest__now())
               ? nest__event(s, NEST__EVENT_EXPIRED)
               : NEST__WANT_READ;
}

/* A last reply must not be destroyed by the reset that unread input causes: says that no more
 * follows, and discards a bounded rest for a bounded time; without lingerTimeout what is there. */
static void blocking_linger(const struct nest__chan *chan, uint8_t *buffer) {
    uint32_t now = nest__now(), deadline = nest__after(now, nest__config.linger_timeout);
    size_t discarded = 0;
    int ready = 1;
    if (nest__chan_half_close(chan) == -1) {
        return;
    }
    while (ready != 0 && discarded <= NEST__LINGER_BYTES && !blocking_cut()) {
        ready = blocking_poll(chan->fd, POLLIN, deadline);
        if (ready > 0) {
            int64_t n = nest__chan_receive(chan, buffer, nest__receive_capacity(), NEST__CHAN_NOW);
            if (n == 0 || n == -ECONNRESET) {
                return;
            }
            discarded += n > 0 ? (size_t)n : 0;
        }
    }
}

/* Tells the client that no output follows. Each byte of it that leaves gives the next one time. */
static void blocking_bye(struct nest__chan *chan) {
    int ready = 1;
    while (!nest__chan_bye(chan) && ready != 0 && !blocking_cut()) {
        ready = blocking_poll(nest__chan_descriptor(chan, true), POLLOUT,
                              nest__after(nest__now(), nest__chan_bye_limit()));
    }
    if (NEST__ENCODES > 0 && nest__encodes_failed(chan)) {
        chan->state |= NEST__CHAN_CUT; /* what the client has is not whole */
    }
}

/* The header of a proxy that comes before the handshake. False: it has not come. */
static bool blocking_header(const nest_session *s, const struct nest__arrival *arrival) {
    if (!NEST__PROXIED || !NEST__TLS) {
        return true;
    }
    uint32_t deadline = nest__after(nest__now(), nest__proxied_limit());
    int error = nest__proxied_open(s, arrival) < 0 ? -ENOMEM : -EAGAIN;
    while (error == -EAGAIN) {
        int ready = blocking_poll(s->c0.fd, POLLIN, deadline);
        if (ready == 0) {
            nest__proxied_say(s, "has not arrived in time");
            return false;
        }
        if (ready < 0 && nest__stopping()) {
            return false;
        }
        error = ready < 0 ? -EAGAIN : nest__proxied_ahead(s);
    }
    return error == 0;
}

/* The handshake that comes before START. False: it has failed, or took too long, or the client is
 * turned away. NEST__TLS is looked at in here: unoptimized code contains functions that nobody
 * calls. */
static bool blocking_shake(nest_session *s) {
    struct nest__chan *chan = &s->c0;
    if (!NEST__TLS) {
        return true;
    }
    if (!nest__tls_admits(s)) {
        chan->state |= NEST__CHAN_CUT;
        return false;
    }
    uint32_t deadline = nest__after(nest__now(), nest__tls_limit());
    int error = nest__tls_begin(chan), ready = 1;
    while (error == 0 || error == -EAGAIN) {
        error = nest__tls_shake(chan);
        if (error != -EAGAIN) {
            break;
        }
        ready = blocking_poll(chan->fd, nest__chan_eager(chan) ? POLLOUT : POLLIN, deadline);
        if (ready == 0 || (ready < 0 && nest__stopping())) {
            return false;
        }
    }
    return error == 0;
}

/* Delivers, and leaves the socket so that close does what is right. */
static void blocking_finish(nest_session *s, uint8_t *buffer) {
    struct nest__chan *chan = &s->c0;
    int error;
    while ((error = blocking_drain(s, &s->c0, 0, NULL)) != 0) {
        (void)blocking_told(s, error);
    }
    if (NEST__CHAN_BYES && (chan->state & NEST__CHAN_CUT) == 0) {
        blocking_bye(chan);
    }
    nest__chan_strip(chan);
    if ((chan->state & NEST__CHAN_CUT) != 0) {
        nest__chan_reset(chan);
    } else if (nest__goes_back(s)) {
        return;
    } else if (nest__unread(s) || nest__chan_unread(chan) ||
               (nest__stopping() && nest__chan_pending(chan))) {
        blocking_linger(chan, buffer);
    }
}

/* After a handshake that has failed. What the client is told about it must not be lost by closing.
 */
static void blocking_refuse(const struct nest__chan *chan, uint8_t *buffer) {
    if ((chan->state & NEST__CHAN_CUT) != 0) {
        nest__chan_reset(chan);
        return;
    }
    bool said = nest__chan_bye(chan);
    nest__chan_strip(chan);
    if (said && !nest__stopping()) {
        blocking_linger(chan, buffer);
    }
}

static enum nest__stop_order blocking_order(struct nest__stop_session stop) {
    return nest__stop_order((enum nest__stop_phase)atomic_load(&nest__stop), stop);
}

/* Input that has been received and belongs to later messages is kept, but not answered. */
static unsigned blocking_stop(nest_session *s, struct nest__window *window) {
    if (window->lent && window->n > 0 && nest__own(s, window) != 0) {
        return nest__event(s, NEST__EVENT_RESET);
    }
    return nest__event(s, NEST__EVENT_DRAIN);
}

/* Where workers have mailboxes: waits until input or mail comes, or until the session's deadline.
 * True: a message was handed over. */
static bool blocking_mail(nest_session *s, unsigned *want) {
    nest_session *to = NULL;
    s->until.deadline = nest__deadline(s);
    struct pollfd ready[] = {
        {.fd = nest__on_mailbox(), .events = POLLIN},
        {.fd = s->c0.fd, .events = nest__chan_blocked(&s->c0) ? POLLOUT : POLLIN},
        {.fd = nest__wake_fd, .events = POLLIN}}; /* -1 is ignored */
    bool eager = nest__chan_eager(&s->c0) && !nest__chan_blocked(&s->c0);
    (void)poll(ready, 3, eager ? 0 : nest__blocking_left(s->until.deadline));
    if (ready[0].revents == 0 || !nest__on_letter(&to)) {
        return false;
    }
    *want = nest__event(s, NEST__EVENT_MAIL);
    return true;
}

bool nest__serve(nest_session *s, const struct nest__arrival *arrival, uint8_t *buffer) {
    struct nest__window window = {0};
    struct nest__stop_session stop = {0};
    struct nest__arrival now = *arrival;
    uint32_t letters = 0; /* handed over since the last look at the connection */
    blocking_was_cut = false;
    if (NEST__TLS && nest__tls_wanted(arrival->listener)) {
        s->work = NULL;
        s->c0 = (struct nest__chan){.fd = arrival->fd, .kind = arrival->kind};
        nest__filters_open(s);
        if ((arrival->proxied && !blocking_header(s, arrival)) || !blocking_shake(s)) {
            blocking_refuse(&s->c0, buffer);
            return false;
        }
        now.headed = now.proxied;
        now.proxied = false;
    }
    if (NEST__CHAN_STAGES) {
        s->c0 = (struct nest__chan){.fd = arrival->fd, .kind = arrival->kind};
        if (nest__chan_dress(&s->c0) < 0) {
            blocking_refuse(&s->c0, buffer);
            return false;
        }
    }
    unsigned want = nest__open(s, &now);
    while ((want & NEST__WANT_END) == 0) {
        stop.owes = nest__out_queued(s, &s->c0) > 0;
        int error = blocking_order(stop) == NEST__STOP_CUT ? -ECANCELED
                    : stop.owes                            ? blocking_drain(s, &s->c0, 0, NULL)
                                                           : 0;
        stop.owes = false;
        enum nest__stop_order order = blocking_order(stop); /* a stop may have begun meanwhile */
        if (error != 0) {
            window = (struct nest__window){0};
            want = blocking_told(s, error);
        } else if (order == NEST__STOP_DRAIN) {
            stop.told = true;
            want = blocking_stop(s, &window);
            window = (struct nest__window){0};
        } else if ((want & NEST__WANT_AGAIN) != 0) {
            want = nest__pump(s, &s->c0, &window);
        } else if (window.lent && window.n > 0 && nest__own(s, &window) != 0) {
            window = (struct nest__window){0};
            want = nest__event(s, NEST__EVENT_RESET);
        } else {
            bool look = order == NEST__STOP_LOOK, polls = nest__on_mailbox() != 0;
            if (!look && polls && letters < NEST__VISIT_MESSAGES && blocking_mail(s, &want)) {
                window = (struct nest__window){0};
                letters++;
                continue;
            }
            letters = 0;
            want = blocking_next(s, &window, buffer, look || polls ? BLOCKING_LOOK : BLOCKING_WAIT);
            stop.looked = look;
        }
    }
    blocking_finish(s, buffer);
    blocking_was_cut = nest__several_end(s) || blocking_was_cut;
    return blocking_was_cut;
}

void nest__serve_lost(nest_session *s) {
    nest__several_lost(s);
    nest__chan_strip(&s->c0);
}
