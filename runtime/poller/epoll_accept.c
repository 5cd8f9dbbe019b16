/* epoll_accept.c: new connections become sessions.
 *
 * Called by accept.c and the other files of the epoll io. No state. Must not know where
 * connections come from, nor when nobody is taken. */
#include "epoll.h"

#include <errno.h>

enum { ACCEPT_TOGETHER = 64 }; /* in one step */

int nest__io_arm(bool on) {
    int error = 0;
    for (unsigned i = 0; i < nest__listener_count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = NEST__EPOLL_LISTENERS - i};
        int how = on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL;
        if (epoll_ctl(nest__epoll.fd, how, nest__listeners[i].fd, &event) == -1) {
            error = -errno;
        }
    }
    return on ? error : 0; /* who was not armed need not be disarmed */
}

void nest__io_rest(uint32_t ms) {
    nest__epoll_wake_after(NEST__EPOLL_RETRY, ms);
}

/* During a stop: nobody waits in this queue any more. */
static void accept_over(const struct nest__listener *listener) {
    epoll_ctl(nest__epoll.fd, EPOLL_CTL_DEL, listener->fd, NULL);
    if (nest__listen_stop()) {
        nest__accept_open(false);
        nest__accept.done = true;
    }
}

static void accept_begin(nest_session *s, const struct nest__arrival *arrival) {
    struct nest__window none = {NULL, 0, false};
    nest__epoll.due[NEST__EPOLL_IDLE_EXIT] = 0;
    nest__wheel_new(s);
    unsigned want = nest__open(s, arrival);
    if ((want & NEST__WANT_END) != 0) {
        nest__epoll_settle(s, want, &none);
    } else {
        nest__epoll_receive(
            s); /* tried at once: what was sent with the connection is often there */
    }
}

void nest__epoll_accept(unsigned index) {
    struct nest__epoll *io = &nest__epoll;
    struct nest__listener *listener = &nest__listeners[index];
    struct nest__arrival arrival = {0};
    unsigned taken = io->accepts;
    int error;
    io->accepts = 0;
    nest_session *s = nest__accept_take(listener, &arrival, &error);
    if (s != NULL) {
        /* Alone, a second one would most likely be in vain; in a crowd it saves asking for events.
         */
        if (io->count > 1 && taken < ACCEPT_TOGETHER) {
            io->accepts = taken + 1;
            io->next--; /* the same event again */
        }
        accept_begin(s, &arrival);
    } else if (error == -EINVAL) {
        accept_over(listener);
    }
}

void nest__epoll_only(void) {
    struct nest__arrival arrival = {0};
    nest_session *s = nest__take_only(&arrival, true) ? nest__slot_take() : NULL;
    nest__accept.done = true;
    if (s != NULL) {
        accept_begin(s, &arrival);
    }
}
