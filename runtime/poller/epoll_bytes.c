/* epoll_bytes.c: receives, sends, and arms for what must come next.
 *
 * Called by the other files of the epoll io, and for output by the engine. State: none of its own.
 * Must not know the language. A pair of pipes has an entry for the direction that it waits for. */
#include "../platform/platform.h"
#include "epoll.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* -- arming */

static int bytes_fd(const struct nest__chan *chan, uint8_t events) {
    return events == EPOLLIN ? chan->fd : nest__chan_out(chan);
}

void nest__epoll_disarm(nest_session *s) {
    uint8_t events = s->c0.io;
    s->c0.io = 0;
    if (events != 0 && (events & NEST__EPOLL_ALWAYS) == 0) {
        epoll_ctl(nest__epoll.fd, EPOLL_CTL_DEL, bytes_fd(&s->c0, events), NULL);
    }
}

bool nest__epoll_arm(nest_session *s, uint8_t events) {
    struct epoll_event event = {.events = events == NEST__EPOLL_QUIET ? (uint32_t)EPOLLET : events,
                                .data.u64 = (uint64_t)s->self.gen << 32 | s->self.slot};
    if (s->c0.io == events && events != NEST__EPOLL_QUIET) { /* quiet: an error is told again */
        return true;
    }
    if (NEST__PIPES && s->c0.io != 0 &&
        bytes_fd(&s->c0, events) != bytes_fd(&s->c0, s->c0.io & (uint8_t)~NEST__EPOLL_ALWAYS)) {
        nest__epoll_disarm(s);
    }
    if (NEST__PIPES && (s->c0.io & NEST__EPOLL_ALWAYS) != 0) {
        s->c0.io = 0;
    }
    int how = s->c0.io == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (epoll_ctl(nest__epoll.fd, how, bytes_fd(&s->c0, events), &event) == -1) {
        if (!NEST__PIPES || errno != EPERM) {
            return false;
        }
        s->c0.io = NEST__EPOLL_ALWAYS | events; /* a file */
        if (events != NEST__EPOLL_QUIET) {
            nest__ready_add(s);
        }
        return true;
    }
    s->c0.io = events;
    return true;
}
_Static_assert(((int)EPOLLIN | (int)EPOLLOUT) < (int)NEST__EPOLL_QUIET,
               "nest__chan.io holds what is armed");

/* -- bytes */

ssize_t nest__epoll_recv(const struct nest__chan *chan, void *to, size_t n) {
    if (NEST__PIPES && chan->kind == NEST__PIPE) {
        return read(chan->fd, to, n);
    }
    return recv(chan->fd, to, n, 0);
}

int nest__push(nest_session *s, struct nest__chan *chan) {
    struct nest__out out[1];
    while (nest__out_next(s, chan, out, 1) > 0) {
        ssize_t n;
        if (NEST__PIPES && chan->kind == NEST__PIPE) {
            n = write(nest__chan_out(chan), out[0].p, out[0].n);
        } else {
            int more = (chan->state & NEST__CHAN_AHEAD) != 0 ? MSG_MORE : 0;
            n = send(chan->fd, out[0].p, out[0].n, MSG_NOSIGNAL | more);
        }
        if (n == -1 && errno == EINTR) {
            continue;
        }
        if (n == -1) {
            return errno == EAGAIN ? 0 : -ECONNRESET;
        }
        nest__epoll.spent += (uint32_t)n;
        nest__chan_sent(chan);
        nest__out_sent(s, chan, (uint64_t)n);
        if ((uint64_t)n < out[0].n) {
            return 0;
        }
    }
    return 0;
}

int64_t nest__send_file(nest_session *s, struct nest__chan *chan, int fd, uint64_t at, uint64_t n) {
    (void)s;
    if (NEST__PIPES && chan->kind == NEST__PIPE) {
        return -EAGAIN;
    }
    int64_t sent = nest__sendfile(chan->fd, fd, at, n);
    if (sent > 0) {
        nest__epoll.spent += (uint32_t)sent;
        nest__chan_sent(chan);
    }
    return sent;
}

uint32_t nest__lease(void) {
    return sizeof nest__epoll.buffer;
}

bool nest__input_ready(const struct nest__chan *chan) {
    int n = 0;
    return (chan->state & (NEST__CHAN_EOF | NEST__CHAN_GONE)) == 0 &&
           ioctl(chan->fd, FIONREAD, &n) != -1 && n > 0;
}

/* -- what the engine wants */

void nest__epoll_settle(nest_session *s, unsigned want, struct nest__window *window) {
    for (;;) {
        if ((want & NEST__WANT_WRITE) != 0 && nest__push(s, &s->c0) < 0) {
            want = nest__event(s, NEST__EVENT_RESET);
            continue;
        }
        uint64_t queued = nest__out_queued(s, &s->c0);
        if ((want & NEST__WANT_END) != 0 && queued == 0) {
            nest__epoll_finish(s);
            return;
        }
        if (nest__epoll.cut) {
            *window = (struct nest__window){NULL, 0, false};
            want = nest__event(s, NEST__EVENT_CUT);
            continue;
        }
        if (nest__own(s, window) == 0) {
            if (nest__epoll.stopping && s->phase == NEST__READING &&
                (s->flags & NEST__STOPPING) == 0) {
                want = nest__event(s, NEST__EVENT_DRAIN);
                continue;
            }
            if (queued == 0 && (want & NEST__WANT_AGAIN) != 0) {
                nest__ready_add(s);
                return;
            }
            if (nest__epoll_arm(s, queued > 0 ? EPOLLOUT : EPOLLIN)) {
                nest__epoll_until(s, nest__deadline(s));
                return;
            }
        }
        nest__accept_pause(-ENOMEM);
        *window = (struct nest__window){NULL, 0, false};
        want = nest__event(s, NEST__EVENT_RESET);
    }
}

void nest__epoll_go_on(nest_session *s) {
    struct nest__window none = {NULL, 0, false};
    unsigned want = nest__pump(s, &s->c0, &none);
    nest__epoll_settle(s, want, &none);
}

void nest__epoll_tell(nest_session *s, enum nest__event event) {
    struct nest__window none = {NULL, 0, false};
    unsigned want = nest__event(s, event);
    nest__epoll_settle(s, want, &none);
}

void nest__epoll_receive(nest_session *s) {
    struct nest__window window = {NULL, 0, false};
    uint32_t room = nest__in_space(s, &s->c0, &window.p);
    if (room == 0) {
        window = (struct nest__window){nest__epoll.buffer, 0, true};
        room = sizeof nest__epoll.buffer;
    }
    ssize_t n = nest__epoll_recv(&s->c0, window.p, room);
    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        nest__chan_received(&s->c0, false); /* nothing waits, even of who never sent anything */
        window.lent = false;
        nest__epoll_settle(s, NEST__WANT_READ | NEST__WANT_WRITE, &window);
    } else if (n <= 0) {
        nest__epoll_tell(s, n == 0 ? NEST__EVENT_EOF : NEST__EVENT_RESET);
    } else {
        window.n = (uint32_t)n;
        nest__chan_received(&s->c0, window.n == room);
        unsigned want = nest__pump(s, &s->c0, &window);
        nest__epoll_settle(s, want, &window);
    }
}
