/* blocking.c: serves one connection with calls that wait.
 *
 * Called by crew/process.c and crew/thread.c; the engine enters at nest__wait and nest__push.
 * State: the phase of the stop, of the process. A warm request costs a receive and a send. Must not
 * know the language, nor who else is served. */
#include "blocking.h"
#include "../platform/platform.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    BLOCKING_VECTORS = 16,
    BLOCKING_LINGER_BYTES = 256 * 1024,
    BLOCKING_LINGER_MS = 2000,
};

_Atomic int nest__stop;

/* One send of what is queued. 0, -EAGAIN (only with MSG_DONTWAIT), or the connection's error. */
static int blocking_send(nest_session *s, struct nest__chan *chan, int flags) {
    struct nest__out out[BLOCKING_VECTORS];
    struct iovec vectors[BLOCKING_VECTORS];
    ssize_t sent;
    int n = nest__out_next(s, chan, out, BLOCKING_VECTORS);
    if (n == 0) {
        return 0;
    }
    do {
        if (n == 1) {
            sent = send(chan->fd, out[0].p, (size_t)out[0].n, flags | MSG_NOSIGNAL);
        } else {
            for (int i = 0; i < n; i++) {
                vectors[i] = (struct iovec){(void *)(uintptr_t)out[i].p, (size_t)out[i].n};
            }
            struct msghdr message = {.msg_iov = vectors, .msg_iovlen = (size_t)n};
            sent = sendmsg(chan->fd, &message, flags | MSG_NOSIGNAL);
        }
    } while (sent == -1 && errno == EINTR);
    if (sent == -1) {
        return errno == EAGAIN || errno == EWOULDBLOCK ? -EAGAIN : -ECONNRESET;
    }
    nest__chan_sent(chan);
    nest__out_sent(s, chan, (uint64_t)sent);
    return 0;
}

static int blocking_drain(nest_session *s, struct nest__chan *chan, uint64_t mark) {
    int error = 0;
    while (error == 0 && nest__out_queued(s, chan) > mark) {
        error = blocking_send(s, chan, 0);
    }
    return error;
}

int nest__wait(nest_session *s, const struct nest__wait *wait) {
    int error = blocking_drain(s, wait->chan, wait->mark);
    return error != 0 && atomic_load(&nest__stop) == NEST__CUT_OFF ? -ECANCELED : error;
}

/* Of this visit; its own clock is finer than any deadline. */
uint32_t nest__now(void) {
    return (uint32_t)nest__clock_ms();
}

bool nest__input_ready(const struct nest__chan *chan) {
    return nest__input_waits(chan);
}

bool nest__stopping(void) {
    return atomic_load(&nest__stop) != NEST__GO_ON;
}

int nest__push(nest_session *s, struct nest__chan *chan) {
    int error = 0;
    while (error == 0 && nest__out_queued(s, chan) > 0) {
        error = blocking_send(s, chan, MSG_DONTWAIT);
    }
    return error == -EAGAIN ? 0 : error;
}

/* The next bytes, behind what the session keeps or into the buffer. The buffer is free: the session
 * owns what it has not read. */
static unsigned blocking_receive(nest_session *s, struct nest__window *window, uint8_t *buffer) {
    uint32_t room = nest__in_space(s, &s->c0, &window->p);
    window->lent = room == 0;
    if (window->lent) {
        window->p = buffer;
        room = nest__config.input_buffer;
    }
    ssize_t n = recv(s->c0.fd, window->p, room, 0);
    window->n = n > 0 ? (uint32_t)n : 0;
    if (n > 0) {
        nest__chan_received(&s->c0, (uint32_t)n == room);
        return nest__pump(s, &s->c0, window);
    }
    window->lent = false;
    if (n == -1) {
        return errno == EINTR ? NEST__WANT_READ : nest__event(s, NEST__EVENT_RESET);
    }
    if (atomic_load(&nest__stop) != NEST__GO_ON) {
        return NEST__WANT_READ; /* no end of file: the stop has shut the socket down */
    }
    return nest__event(s, NEST__EVENT_EOF);
}

/* A last reply must not be destroyed by the reset that unread input causes: says that no more
 * follows, and discards a bounded rest for a bounded time. */
static void blocking_linger(int fd, uint8_t *buffer) {
    uint64_t now = nest__clock_ms(), deadline = now + BLOCKING_LINGER_MS;
    size_t discarded = 0;
    if (shutdown(fd, SHUT_WR) == -1) {
        return;
    }
    while (discarded < BLOCKING_LINGER_BYTES && now < deadline) {
        struct pollfd readable = {.fd = fd, .events = POLLIN};
        int ready = poll(&readable, 1, (int)(deadline - now));
        if (ready == 1) {
            ssize_t n = recv(fd, buffer, nest__config.input_buffer, MSG_DONTWAIT);
            if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR)) {
                return;
            }
            discarded += n > 0 ? (size_t)n : 0;
        } else if (ready == 0 || errno != EINTR) {
            return;
        }
        now = nest__clock_ms();
    }
}

void nest__serve(nest_session *s, const struct nest__arrival *arrival, uint8_t *buffer) {
    struct nest__window window = {0};
    unsigned want = nest__open(s, arrival);
    while ((want & NEST__WANT_END) == 0) {
        if (nest__out_queued(s, &s->c0) > 0 && blocking_drain(s, &s->c0, 0) != 0) {
            bool cut = atomic_load(&nest__stop) == NEST__CUT_OFF;
            window = (struct nest__window){0};
            want = nest__event(s, cut ? NEST__EVENT_CUT : NEST__EVENT_RESET);
        } else if ((want & NEST__WANT_AGAIN) != 0) {
            want = nest__pump(s, &s->c0, &window);
        } else if (window.lent && window.n > 0 && nest__own(s, &window) != 0) {
            window = (struct nest__window){0};
            want = nest__event(s, NEST__EVENT_RESET);
        } else if (atomic_load(&nest__stop) != NEST__GO_ON) {
            want = nest__event(s, NEST__EVENT_DRAIN);
            if ((want & NEST__WANT_END) == 0) { /* in a message; receives fail from here on */
                want = nest__event(s, NEST__EVENT_CUT);
            }
        } else {
            want = blocking_receive(s, &window, buffer);
        }
    }
    if (blocking_drain(s, &s->c0, 0) == 0 &&
        (nest__unread(s) || nest__input_waits(&s->c0) || atomic_load(&nest__stop) == NEST__DRAIN)) {
        blocking_linger(arrival->fd, buffer);
    }
}
