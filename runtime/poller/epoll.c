/* epoll.c: a poller that learns from epoll which channels are ready, and then moves their bytes.
 *
 * See poller.h. State: this process's epoll set. Must not know the language, nor what a session
 * does.
 *
 * Level-triggered: what is left is reported again, so nothing is remembered here. A channel is in
 * the set for what it awaits, for input also until output is possible if it is eager (channel.h),
 * and no call is made to cancel: a channel that awaits nothing any more is changed only when
 * something is reported for it. */
#include "../channel/channel.h"
#include "../platform/platform.h"
#include "../service/processors/processors.h"
#include "direct.h"
#include "system.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

enum { EPOLL_EVENTS = 256 };
/* nest__chan.io: EPOLLIN, EPOLLOUT, or one of: */
enum {
    EPOLL_QUIET = 32,  /* in the set for errors alone, each of them told once */
    EPOLL_ALWAYS = 64, /* with one of the above: cannot be polled, and never blocks */
    EPOLL_BOTH = (int)EPOLLIN | (int)EPOLLOUT
};
_Static_assert(((int)EPOLLIN | (int)EPOLLOUT) < (int)EPOLL_QUIET,
               "nest__chan.io holds what is armed");
_Static_assert((int)EPOLLOUT == POLLOUT, "events are those of poll(2)");

static struct {
    int fd;
    int next, count; /* of events */
    struct epoll_event events[EPOLL_EVENTS];
    uint64_t always; /* the name of the channel that cannot be polled, and is ready; 0: none */
} epoll;

/* -- the set */

static int epoll_set(int how, int fd, uint32_t events, uint64_t name) {
    struct epoll_event event = {.events = events, .data.u64 = name};
    return epoll_ctl(epoll.fd, how, fd, &event) == -1 ? -errno : 0;
}

/* A pair of descriptors has an entry for the direction that it waits for. */
static int epoll_descriptor(const struct nest__chan *chan, uint8_t events) {
    return nest__chan_descriptor(chan, (events & EPOLLIN) == 0);
}

static void epoll_disarm(struct nest__chan *chan) {
    uint8_t events = chan->io;
    chan->io = 0;
    if (events != 0 && (events & EPOLL_ALWAYS) == 0) {
        epoll_ctl(epoll.fd, EPOLL_CTL_DEL, epoll_descriptor(chan, events), NULL);
    }
}

/* What is reported of a channel that awaits nothing, beside errors. */
static uint32_t epoll_errors(const struct nest__chan *chan) {
    return (uint32_t)EPOLLET | ((chan->state & NEST__CHAN_MINDS) != 0 ? (uint32_t)EPOLLRDHUP : 0u);
}

static bool epoll_arm(const nest_session *s, struct nest__chan *chan, uint8_t events) {
    uint64_t name = nest__name_of(s, chan, NEST__OP_RECEIVE);
    int fd = epoll_descriptor(chan, events);
    if (NEST__PIPES && chan->io != 0 &&
        fd != epoll_descriptor(chan, chan->io & (uint8_t)~EPOLL_ALWAYS)) {
        epoll_disarm(chan);
    }
    if (NEST__PIPES && (chan->io & EPOLL_ALWAYS) != 0) {
        chan->io = 0;
    }
    int error = epoll_set(chan->io == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd,
                          events == EPOLL_QUIET ? epoll_errors(chan) : events, name);
    if (error < 0) {
        if (!NEST__PIPES || error != -EPERM) {
            return false;
        }
        chan->io = EPOLL_ALWAYS | events; /* a file */
        epoll.always = events == EPOLL_QUIET ? 0 : name;
        return true;
    }
    chan->io = events;
    return true;
}

bool nest__poller_await(nest_session *s, struct nest__chan *chan, enum nest__await what) {
    chan->awaits = what;
    if ((what == NEST__AWAIT_INPUT || what == NEST__AWAIT_BOTH) && nest__chan_blocked(chan)) {
        return chan->io == EPOLLOUT || epoll_arm(s, chan, EPOLLOUT); /* input would never rest */
    }
    switch (what) {
    case NEST__AWAIT_INPUT:
        if (nest__chan_eager(chan)) {
            return chan->io == EPOLL_BOTH || epoll_arm(s, chan, EPOLL_BOTH);
        }
        return chan->io == EPOLLIN || epoll_arm(s, chan, EPOLLIN);
    case NEST__AWAIT_OUTPUT:
        return chan->io == EPOLLOUT || epoll_arm(s, chan, EPOLLOUT);
    case NEST__AWAIT_BOTH: /* of a pair of descriptors, one is in the set */
        return nest__chan_shared(chan) ? nest__poller_await(s, chan, NEST__AWAIT_OUTPUT)
                                       : chan->io == EPOLL_BOTH || epoll_arm(s, chan, EPOLL_BOTH);
    case NEST__AWAIT_LEFT_BOTH:
        return chan->io == EPOLL_BOTH || epoll_arm(s, chan, EPOLL_BOTH);
    case NEST__AWAIT_LEFT:
    case NEST__AWAIT_READY:
        return chan->io == EPOLLIN || epoll_arm(s, chan, EPOLLIN);
    case NEST__AWAIT_ERRORS: /* of one that is quiet already an error is told again */
        return (chan->io & (EPOLLIN | EPOLLOUT)) != 0 || epoll_arm(s, chan, EPOLL_QUIET);
    case NEST__AWAIT_NOTHING:
        break;
    }
    return true; /* as it is: before anything is reported the session may await something again */
}

/* Something was reported that nobody awaits: not again until somebody does. */
static void epoll_quiet(const nest_session *s, struct nest__chan *chan) {
    if (chan->io != EPOLL_QUIET && !epoll_arm(s, chan, EPOLL_QUIET)) {
        epoll_disarm(chan);
    }
}

bool nest__poller_pending(const nest_session *s, const struct nest__chan *chan) {
    bool output = chan->awaits == NEST__AWAIT_OUTPUT || nest__chan_blocked(chan);
    (void)s;
    return nest__poll_now(nest__chan_descriptor(chan, output), output ? POLLOUT : POLLIN) != 0;
}

bool nest__poller_close(nest_session *s, struct nest__chan *chan) {
    (void)s;
    if (NEST__RETURNS || nest__chan_shared(chan)) {
        epoll_disarm(chan); /* closing it would not do that: another process has it open */
    }
    nest__chan_close(chan);
    return true;
}

/* -- bytes */

int64_t nest__poller_receive(nest_session *s, struct nest__chan *chan,
                             struct nest__window *window) {
    return nest__direct_receive(s, chan, window);
}

bool nest__received_ahead(const struct nest__chan *chan) {
    (void)chan;
    return false;
}

int nest__push(nest_session *s, struct nest__chan *chan) {
    return nest__direct_push(s, chan);
}

int64_t nest__send_file(nest_session *s, struct nest__chan *chan, int fd, uint64_t at, uint64_t n) {
    (void)s;
    return nest__direct_send_file(chan, fd, at, n);
}

/* -- listeners */

int nest__poller_arm(bool on) {
    int error = 0;
    for (unsigned i = 0; i < nest__listener_count; i++) {
        unsigned at = nest__accept_turn(i, nest__listener_count);
        int failed = epoll_set(on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, nest__listeners[at].fd, EPOLLIN,
                               nest__name_of_loop(NEST__OP_ACCEPT, at));
        error = failed < 0 ? failed : error;
    }
    return on ? error : 0; /* one that was not armed need not be disarmed */
}

void nest__poller_retire(unsigned listener) {
    epoll_ctl(epoll.fd, EPOLL_CTL_DEL, nest__listeners[listener].fd, NULL);
}

/* -- completions */

static bool epoll_lost(struct nest__completion *done) {
    done->result = -ECONNRESET;
    return true;
}

static bool epoll_ready(const struct epoll_event *event, struct nest__completion *done) {
    struct nest__chan *chan;
    nest_session *s = nest__named(event->data.u64, &chan);
    if (s != NULL && nest__moved(s)) {
        epoll_disarm(chan); /* until it is home, and awaits something */
        return false;
    }
    if (s == NULL || ((s->flags & NEST__READY) != 0 && chan == nest__served(s))) {
        return false; /* of one that is gone; or its turn comes */
    }
    done->name = event->data.u64;
    switch ((enum nest__await)chan->awaits) {
    case NEST__AWAIT_INPUT:
        done->result = nest__direct_receive(s, chan, &done->window);
        if (NEST__CHAN_LAYERS && done->result == -EAGAIN) {
            return !nest__poller_await(s, chan, NEST__AWAIT_INPUT) && epoll_lost(done);
        }
        return done->result != -EAGAIN;
    case NEST__AWAIT_BOTH:
        return nest__direct_both(s, chan, event->events, done) ||
               (NEST__CHAN_LAYERS && !nest__poller_await(s, chan, NEST__AWAIT_BOTH) &&
                epoll_lost(done));
    case NEST__AWAIT_READY:
    case NEST__AWAIT_LEFT:
    case NEST__AWAIT_LEFT_BOTH:
    case NEST__AWAIT_OUTPUT:
        done->name = nest__name_of(s, chan, NEST__OP_SEND);
        done->result = 0;
        return true;
    case NEST__AWAIT_ERRORS:
        if ((event->events & EPOLLERR) != 0 ||
            ((event->events & EPOLLRDHUP) != 0 && (chan->state & NEST__CHAN_MINDS) != 0)) {
            done->name = nest__name_of(s, chan, NEST__OP_WATCH);
            done->result = -ECONNRESET;
            return true;
        }
        break;
    case NEST__AWAIT_NOTHING:
        break;
    }
    epoll_quiet(s, chan); /* input, or its end, can wait */
    return false;
}

static bool epoll_completed(const struct epoll_event *event, struct nest__completion *done) {
    if (nest__name_slot(event->data.u64) != NEST__NAME_SLOTS) {
        return epoll_ready(event, done);
    }
    done->name = event->data.u64;
    done->result = nest__source_result(nest__name_operation(done->name));
    return true;
}

bool nest__poller_next(struct nest__completion *done) {
    while (epoll.next < epoll.count) {
        if (epoll_completed(&epoll.events[epoll.next++], done)) {
            return true;
        }
    }
    if (NEST__PIPES && epoll.always != 0) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.u64 = epoll.always};
        epoll.always = 0;
        return epoll_completed(&event, done);
    }
    return false;
}

void nest__poller_step(void) {
    nest__clock_step();
}

void nest__poller_sleep(bool look) {
    epoll.next = 0;
    epoll.count = epoll_wait(epoll.fd, epoll.events, EPOLL_EVENTS,
                             look || (NEST__PIPES && epoll.always != 0) ? 0 : -1);
    if (epoll.count == -1) {
        if (errno != EINTR) {
            nest__closed_under();
        }
        epoll.count = 0;
    }
}

uint32_t nest__poller_completed(void) {
    return (uint32_t)epoll.count;
}

uint32_t nest__poller_clients(void) {
    uint32_t clients = 0;
    for (int i = epoll.next; i < epoll.count; i++) {
        clients += nest__name_slot(epoll.events[i].data.u64) != NEST__NAME_SLOTS;
    }
    return clients;
}

/* -- the beginning */

int nest__poller_prepare(uint32_t *most) {
    return nest__system_prepare(most);
}

unsigned nest__poller_needs(struct nest__need needs[]) {
    (void)needs;
    return 0;
}

int nest__poller_start(void) {
    struct nest__source sources[NEST__SOURCES];
    unsigned n;
    int error = nest__system_start(sources, &n);
    epoll.fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll.fd == -1) {
        return -errno;
    }
    for (unsigned i = 0; error == 0 && i < n; i++) {
        uint32_t edge = nest__source_unread(sources[i].operation) ? (uint32_t)EPOLLET : 0;
        error = epoll_set(EPOLL_CTL_ADD, sources[i].fd, EPOLLIN | edge,
                          nest__name_of_loop(sources[i].operation, 0));
    }
    return error;
}
