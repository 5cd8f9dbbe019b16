/* epoll.c: bytes and connections reach sessions by readiness; one loop, no thread.
 *
 * Called by crew/loops.c and, for output, by the engine. State: this process's loop. Must not know
 * the language. Level-triggered: what is left is reported again, so nothing is remembered here. A
 * session is armed for input or for output, never both: while output waits nothing is read, and
 * who must wait for nothing has no entry at all. A wake-up happens only for an event, or while
 * closing connections or the stopping server have a deadline. */
#include "../crew/loops.h"
#include "../platform/platform.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    EPOLL_EVENTS = 256,
    EPOLL_ACCEPTS = 64,        /* in one step */
    EPOLL_DESCRIPTORS = 64,    /* beside the clients': listeners, libraries, the user's files */
    EPOLL_LINGER_MS = 2000,    /* for a client to close, */
    EPOLL_LINGER = 256 * 1024, /* and what it may still send */
    EPOLL_STOP_MS = 5000,
    EPOLL_RETRY_MS = 1000, /* no descriptor was left, and none of ours will be freed */
};
/* Names of events beside those of slots; listeners count down from there. */
static const uint32_t epoll_signals = NEST__NO_SLOT - 1;

static struct {
    int fd, signals; /* signals: an eventfd that counts requests to stop */
    pid_t self;
    int next, count; /* of events */
    struct epoll_event events[EPOLL_EVENTS];
    uint32_t turns;                /* of the ready list, before events are asked for again */
    uint32_t sent;                 /* bytes, in this step */
    bool accepting, stopping, cut; /* cut: the time to stop is over */
    uint64_t stop_at, retry_at;
    uint32_t drain, cutting;            /* next slot to be told */
    uint32_t linger_first, linger_last; /* in order of their deadlines */
    uint8_t buffer[NEST__VISIT_IN];
} io;

/* -- arming */

static bool epoll_arm(nest_session *s, uint32_t events) {
    struct epoll_event event = {.events = events,
                                .data.u64 = (uint64_t)s->self.gen << 32 | s->self.slot};
    if (s->c0.io == events) {
        return true;
    }
    if (epoll_ctl(io.fd, s->c0.io == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, s->c0.fd, &event) == -1) {
        return false;
    }
    s->c0.io = (uint8_t)events;
    return true;
}
_Static_assert(EPOLLIN < 256 && EPOLLOUT < 256, "nest__chan.io holds what is armed");

static void epoll_listen(bool on) {
    bool failed = false;
    if (on == io.accepting || (on && io.stopping)) {
        return;
    }
    io.accepting = on;
    for (unsigned i = 0; i < nest__listener_count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = epoll_signals - 1 - i};
        int how = on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL;
        failed = (epoll_ctl(io.fd, how, nest__listeners[i].fd, &event) == -1 && on) || failed;
    }
    if (failed) { /* no memory: all or none, and again later */
        epoll_listen(false);
        io.retry_at = nest__clock_ms() + EPOLL_RETRY_MS;
    }
}

/* -- ends of connections */

static void epoll_unlinger(nest_session *s) {
    uint32_t before = s->wheel_prev, after = s->wheel_next;
    if (before == NEST__NO_SLOT) {
        io.linger_first = after;
    } else {
        nest__slot_at(before)->wheel_next = after;
    }
    if (after == NEST__NO_SLOT) {
        io.linger_last = before;
    } else {
        nest__slot_at(after)->wheel_prev = before;
    }
    s->flags &= (uint8_t)~NEST__LINGERING;
}

static void epoll_release(nest_session *s) {
    if ((s->flags & NEST__LINGERING) != 0) {
        epoll_unlinger(s);
    }
    close(s->c0.fd);
    nest__released(s);
    nest__slot_give(s, true);
    epoll_listen(true);
}

/* All is delivered. Closing over unread input would destroy what the client has not read. */
static void epoll_finish(nest_session *s) {
    if (io.cut || !(nest__unread(s) || nest__input_waits(&s->c0)) ||
        shutdown(s->c0.fd, SHUT_WR) == -1 || !epoll_arm(s, EPOLLIN)) {
        epoll_release(s);
        return;
    }
    s->flags |= NEST__LINGERING;
    s->discarded = 0;
    s->deadline = (uint32_t)(nest__clock_ms() + EPOLL_LINGER_MS);
    s->wheel_next = NEST__NO_SLOT;
    s->wheel_prev = io.linger_last;
    if (io.linger_last == NEST__NO_SLOT) {
        io.linger_first = s->self.slot;
    } else {
        nest__slot_at(io.linger_last)->wheel_next = s->self.slot;
    }
    io.linger_last = s->self.slot;
}

static void epoll_discard(nest_session *s) {
    ssize_t n = recv(s->c0.fd, io.buffer, sizeof io.buffer, 0);
    if (n > 0) {
        s->discarded += (uint64_t)n;
    }
    if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR) || s->discarded > EPOLL_LINGER) {
        epoll_release(s);
    }
}

/* -- bytes */

int nest__push(nest_session *s, struct nest__chan *chan) {
    struct nest__out out[1];
    while (nest__out_next(s, chan, out, 1) > 0) {
        ssize_t n = send(chan->fd, out[0].p, out[0].n, MSG_NOSIGNAL);
        if (n == -1 && errno == EINTR) {
            continue;
        }
        if (n == -1) {
            return errno == EAGAIN ? 0 : -ECONNRESET;
        }
        io.sent += (uint32_t)n;
        nest__chan_sent(chan);
        nest__out_sent(s, chan, (uint64_t)n);
        if ((uint64_t)n < out[0].n) {
            return 0;
        }
    }
    return 0;
}

/* Does what the engine wants: sends, then waits for what must come next. */
static void epoll_settle(nest_session *s, unsigned want, struct nest__window *window) {
    for (;;) {
        if ((want & NEST__WANT_WRITE) != 0 && nest__push(s, &s->c0) < 0) {
            want = nest__event(s, NEST__EVENT_RESET);
            continue;
        }
        uint64_t queued = nest__out_queued(s, &s->c0);
        if ((want & NEST__WANT_END) != 0 && (queued == 0 || io.cut)) {
            epoll_finish(s);
            return;
        }
        if (nest__own(s, window) == 0) {
            if (queued == 0 && (want & NEST__WANT_AGAIN) != 0) {
                nest__ready_add(s);
                return;
            }
            if (epoll_arm(s, queued > 0 ? EPOLLOUT : EPOLLIN)) {
                return;
            }
        }
        *window = (struct nest__window){NULL, 0, false};
        want = nest__event(s, NEST__EVENT_RESET);
    }
}

static void epoll_go_on(nest_session *s) {
    struct nest__window none = {NULL, 0, false};
    unsigned want = nest__pump(s, &s->c0, &none);
    epoll_settle(s, want, &none);
}

static void epoll_tell(nest_session *s, enum nest__event event) {
    struct nest__window none = {NULL, 0, false};
    unsigned want = nest__event(s, event);
    epoll_settle(s, want, &none);
}

/* One receive. What is left in the kernel is reported again. */
static void epoll_receive(nest_session *s) {
    struct nest__window window = {NULL, 0, false};
    uint32_t room = nest__in_space(s, &s->c0, &window.p);
    if (room == 0) {
        window = (struct nest__window){io.buffer, 0, true};
        room = sizeof io.buffer;
    }
    ssize_t n = recv(s->c0.fd, window.p, room, 0);
    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        window.lent = false;
        epoll_settle(s, NEST__WANT_READ | NEST__WANT_WRITE, &window);
    } else if (n <= 0) {
        epoll_tell(s, n == 0 ? NEST__EVENT_EOF : NEST__EVENT_RESET);
    } else {
        window.n = (uint32_t)n;
        nest__chan_received(&s->c0, window.n == room);
        unsigned want = nest__pump(s, &s->c0, &window);
        epoll_settle(s, want, &window);
    }
}

/* -- the door */

bool nest__io_await(nest_session *s, struct nest__waiter *waiter) {
    if (io.cut) {
        waiter->result = -ECANCELED;
        return false;
    }
    if (nest__out_queued(s, &s->c0) > waiter->wait->mark) {
        waiter->result = -ENOMEM;
        return epoll_arm(s, EPOLLOUT);
    }
    if (io.sent <= NEST__VISIT_OUT) {
        return false;
    }
    nest__ready_add(s); /* a reader as fast as we are must not starve the others */
    return true;
}

/* Of this visit; its own clock is finer than any deadline. */
uint32_t nest__now(void) {
    return (uint32_t)nest__clock_ms();
}

bool nest__input_ready(const struct nest__chan *chan) {
    return nest__input_waits(chan);
}

bool nest__stopping(void) {
    return io.stopping;
}

static nest_session *epoll_waited(nest_session *s, int result) {
    ((struct nest__waiter *)s->waiter)->result = result;
    return s;
}

/* -- events */

static void epoll_accept(const struct epoll_event *event) {
    struct nest__listener *listener = &nest__listeners[epoll_signals - 1 - event->data.u64];
    /* Alone, a second accept would most likely be in vain; in a crowd it saves asking for events.
     */
    for (unsigned n = io.count == 1 ? 1 : EPOLL_ACCEPTS; n > 0 && io.accepting; n--) {
        struct nest__arrival arrival = {0};
        nest_session *s = nest__slot_take();
        if (s == NULL) {
            epoll_listen(false);
            return;
        }
        int error = nest__take(listener, &arrival, true);
        if (error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -ENOBUFS) {
            nest__slot_give(s, false);
            epoll_listen(false);
            io.retry_at = nest__clock_ms() + EPOLL_RETRY_MS;
            return;
        }
        if (error < 0) {
            nest__slot_give(s, false);
            if (error == -EAGAIN || error == -EINVAL) {
                return;
            }
            continue;
        }
        unsigned want = nest__open(s, &arrival);
        if ((want & NEST__WANT_END) != 0) {
            struct nest__window none = {NULL, 0, false};
            epoll_settle(s, want, &none);
        } else {
            epoll_receive(s); /* tried at once: what was sent with the connection is often there */
        }
    }
}

/* TERM or INT. A handler, not a blocked signal: what actions start would inherit the block. */
static void epoll_stop(int number) {
    uint64_t one = 1;
    int saved = errno;
    if (getpid() != io.self) { /* a child that an action forked: none of our business */
        signal(number, SIG_DFL);
        raise(number);
    } else if (write(io.signals, &one, sizeof one) == -1) {
        _exit(1); /* cannot happen: the counter never fills */
    }
    errno = saved;
}

static void epoll_signal(void) {
    uint64_t count;
    if (read(io.signals, &count, sizeof count) != sizeof count) {
        return;
    }
    if (!io.stopping) {
        epoll_listen(false);
        nest__listen_stop();
        io.stopping = true;
        io.drain = 0;
        io.stop_at = nest__clock_ms() + EPOLL_STOP_MS;
        count--;
    }
    if (count > 0) {
        io.stop_at = 0; /* a second time: at once */
    }
}

static nest_session *epoll_event(const struct epoll_event *event) {
    if (event->data.u64 == epoll_signals) {
        epoll_signal();
        return NULL;
    }
    if ((uint32_t)event->data.u64 >= epoll_signals - NEST__LISTEN_MAX) {
        epoll_accept(event);
        return NULL;
    }
    nest_session *s = nest__slot_at((uint32_t)event->data.u64);
    if (s->self.gen != event->data.u64 >> 32 || s->phase == NEST__FREE) {
        return NULL; /* of one that is gone */
    }
    if ((s->flags & NEST__READY) != 0) {
        return NULL; /* its turn comes */
    }
    if ((s->flags & NEST__LINGERING) != 0) {
        epoll_discard(s);
    } else if ((s->flags & NEST__WAITING) != 0) {
        int result = nest__push(s, &s->c0);
        const struct nest__waiter *waiter = s->waiter;
        if (result < 0 || nest__out_queued(s, &s->c0) <= waiter->wait->mark) {
            return epoll_waited(s, result);
        }
    } else if (nest__out_queued(s, &s->c0) > 0) {
        if (nest__push(s, &s->c0) < 0) {
            epoll_tell(s, NEST__EVENT_RESET);
        } else if (nest__out_queued(s, &s->c0) == 0) {
            epoll_go_on(s);
        }
    } else {
        epoll_receive(s);
    }
    return NULL;
}

/* -- stopping: every session is told, one a step */

static void epoll_drain(nest_session *s) {
    if (s->phase == NEST__READING && (s->flags & NEST__READY) == 0) {
        epoll_tell(s, NEST__EVENT_DRAIN);
    } else if (s->phase == NEST__READING) {
        s->flags |= NEST__STOPPING; /* seen at its turn */
    } else if (s->phase == NEST__ACTING) {
        nest__event(s, NEST__EVENT_DRAIN);
    }
}

static nest_session *epoll_cut(nest_session *s) {
    if ((s->flags & NEST__WAITING) != 0) {
        epoll_waited(s, -ECANCELED);
        return (s->flags & NEST__READY) != 0 ? NULL : s;
    }
    if (s->phase == NEST__ENDED) {
        epoll_release(s);
    }
    return NULL;
}

/* -- steps */

/* How long epoll_wait may sleep; -1: until something happens. */
static int epoll_timeout(void) {
    uint64_t now, at = UINT64_MAX;
    if (nest__ready_count() > 0) {
        return 0;
    }
    if (!io.stopping && io.retry_at == 0 && io.linger_first == NEST__NO_SLOT) {
        return -1;
    }
    now = nest__clock_ms();
    if (io.stopping && !io.cut) {
        at = io.stop_at;
    }
    if (io.retry_at != 0 && io.retry_at < at) {
        at = io.retry_at;
    }
    if (io.linger_first != NEST__NO_SLOT) {
        int32_t left = (int32_t)(nest__slot_at(io.linger_first)->deadline - (uint32_t)now);
        uint64_t linger_at = left > 0 ? now + (uint64_t)left : now;
        at = linger_at < at ? linger_at : at;
    }
    return at == UINT64_MAX ? -1 : at <= now ? 0 : (int)(at - now);
}

static void epoll_expire(void) {
    uint64_t now;
    if (!io.stopping && io.retry_at == 0 && io.linger_first == NEST__NO_SLOT) {
        return;
    }
    now = nest__clock_ms();
    if (io.stopping && !io.cut && now >= io.stop_at) {
        io.cut = true;
        io.cutting = 0;
    }
    if (io.retry_at != 0 && now >= io.retry_at) {
        io.retry_at = 0;
        epoll_listen(true);
    }
    while (io.linger_first != NEST__NO_SLOT) {
        nest_session *s = nest__slot_at(io.linger_first);
        if ((int32_t)(s->deadline - (uint32_t)now) > 0) {
            break;
        }
        epoll_release(s);
    }
}

nest_session *nest__io_step(void) {
    io.sent = 0;
    if (io.stopping && io.drain < nest__slots_ever()) {
        epoll_drain(nest__slot_at(io.drain++));
        return NULL;
    }
    if (io.cut && io.cutting < nest__slots_ever()) {
        return epoll_cut(nest__slot_at(io.cutting++));
    }
    if (io.next < io.count) {
        return epoll_event(&io.events[io.next++]);
    }
    if (io.turns > 0) {
        nest_session *s = nest__ready_take();
        io.turns--;
        if (s != NULL && (s->flags & NEST__WAITING) != 0) {
            return s; /* it waited for its turn only: the result is set */
        }
        if (s != NULL) {
            epoll_go_on(s);
        }
        return NULL;
    }
    io.next = 0;
    io.count = epoll_wait(io.fd, io.events, EPOLL_EVENTS, epoll_timeout());
    if (io.count == -1) {
        io.count = 0; /* EINTR */
    }
    io.turns = nest__ready_count();
    epoll_expire();
    return NULL;
}

bool nest__io_done(void) {
    return io.stopping && io.drain >= nest__slots_ever() && nest__slots_taken() == 0;
}

int nest__io_status(void) {
    return 0;
}

/* -- the beginning */

/* A block that whoever started the server left behind would make it deaf. */
static int epoll_hear(void) {
    struct sigaction stop = {.sa_handler = epoll_stop, .sa_flags = (int)SA_RESTART};
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = epoll_signals};
    sigset_t mine;
    io.self = getpid();
    sigemptyset(&stop.sa_mask);
    sigemptyset(&mine);
    sigaddset(&mine, SIGTERM);
    sigaddset(&mine, SIGINT);
    if ((io.fd = epoll_create1(EPOLL_CLOEXEC)) == -1 ||
        (io.signals = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) == -1 ||
        epoll_ctl(io.fd, EPOLL_CTL_ADD, io.signals, &event) == -1 ||
        sigaction(SIGTERM, &stop, NULL) == -1 || sigaction(SIGINT, &stop, NULL) == -1 ||
        sigprocmask(SIG_UNBLOCK, &mine, NULL) == -1) {
        return -errno;
    }
    return 0;
}

uint32_t nest__io_prepare(void) {
    if (nest__descriptors_budget((uint64_t)nest__config.max_clients + EPOLL_DESCRIPTORS) < 0) {
        return 0;
    }
    int error = epoll_hear();
    if (error < 0) {
        nest__say("cannot start: %s", strerror(-error));
        return 0;
    }
    return nest__config.max_clients;
}

int nest__io_start(void) {
    int error = nest__listen_nonblocking();
    if (error < 0) {
        nest__say("cannot start: %s", strerror(-error));
        return error;
    }
    io.linger_first = io.linger_last = NEST__NO_SLOT;
    epoll_listen(true);
    return 0;
}
