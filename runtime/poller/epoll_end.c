/* epoll_end.c: how connections end: at once, after lingering, or cut.
 *
 * Called by the other files of the epoll io. State: none of its own; who lingers is in the wheel.
 * Must not know why a session ended. */
#include "../platform/platform.h"
#include "epoll.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

void nest__epoll_release(nest_session *s) {
    nest__wheel_drop(s);
    if ((s->c0.state & NEST__CHAN_CUT) != 0) {
        nest__reset_at_close(s->c0.fd);
    }
    if (NEST__PIPES && s->c0.kind == NEST__PIPE) {
        nest__epoll_disarm(s); /* others may have it open: closing it would not do that */
    }
    close(s->c0.fd);
    nest__released(s);
    nest__slot_give(s, true);
    nest__accept_open(true);
    if (nest__slots_taken() == 0) {
        nest__epoll_wake_after(NEST__EPOLL_IDLE_EXIT, nest__listen_idle_exit());
    }
}

/* Reads and drops some input. True: there will be no more, or it was enough. */
static bool end_discard(nest_session *s) {
    ssize_t n = recv(s->c0.fd, nest__epoll.buffer, sizeof nest__epoll.buffer, 0);
    s->discarded += n > 0 ? (uint64_t)n : 0;
    return n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR) ||
           s->discarded > NEST__LINGER_BYTES;
}

/* Closing over unread input would destroy what the client has not read. */
void nest__epoll_finish(nest_session *s) {
    uint32_t limit = nest__config.linger_timeout;
    if ((s->c0.state & NEST__CHAN_CUT) != 0 || nest__epoll.cut ||
        !(nest__unread(s) || nest__input_waits(&s->c0)) || shutdown(s->c0.fd, SHUT_WR) == -1) {
        nest__epoll_release(s);
        return;
    }
    s->discarded = 0;
    if (limit == 0) { /* what is there, and no longer */
        while (nest__input_ready(&s->c0) && !end_discard(s)) {
        }
    }
    if (limit == 0 || !nest__epoll_arm(s, EPOLLIN)) {
        nest__epoll_release(s);
        return;
    }
    s->flags |= NEST__LINGERING;
    nest__epoll_until(s, nest__after(nest__now(), limit));
}

void nest__epoll_discard(nest_session *s) {
    if (end_discard(s)) {
        nest__epoll_release(s);
    }
}
