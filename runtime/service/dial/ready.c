/* ready.c: $waitFor: an action waits for a descriptor of its own.
 *
 * Called by actions. No state: the descriptor is put into an epoll set that lives for one wait, and
 * that the session waits for like for one of its channels. So the poller of the server never sees
 * the descriptor, which a library may close at any time. */
#include "../../engine/second.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

static int ready_fail(int error) {
    errno = error;
    return -1;
}

static int ready_found(int set) {
    struct epoll_event event = {0};
    if (epoll_wait(set, &event, 1, 0) != 1) {
        return 0;
    }
    uint32_t over = event.events & (uint32_t)(EPOLLERR | EPOLLHUP);
    return ((event.events & EPOLLIN) != 0 || over != 0 ? (int)NEST_READABLE : 0) |
           ((event.events & EPOLLOUT) != 0 || over != 0 ? (int)NEST_WRITABLE : 0);
}

__attribute__((noinline)) static int ready_wait_for(nest_session *s, int fd, unsigned events,
                                                    uint32_t ms) {
    struct epoll_event event = {.events = ((events & NEST_READABLE) != 0 ? EPOLLIN : 0u) |
                                          ((events & NEST_WRITABLE) != 0 ? EPOLLOUT : 0u)};
    if (nest__fails(s, nest__acting(s))) {
        return nest__refuse(s);
    }
    if (event.events == 0 || (events & ~(NEST_READABLE | NEST_WRITABLE)) != 0) {
        return ready_fail(EINVAL);
    }
    int set = epoll_create1(EPOLL_CLOEXEC);
    if (set == -1) {
        return -1;
    }
    if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == -1) {
        int error = errno;
        close(set);
        return error == EPERM ? (int)events : ready_fail(error); /* a file is always ready */
    }
    int number = nest__channel_attach(s, set, NEST__UNIX);
    if (number < 0) {
        int error = errno;
        close(set);
        return ready_fail(error);
    }
    struct nest__further *further = nest__channel_use(s, (unsigned)number);
    uint32_t deadline = nest__second_until(ms);
    int result = 0;
    while (result == 0) { /* 0: what was ready is not any more */
        struct nest__member member = {.chan = &further->chan, .readable = true};
        result = nest__second_wait(s, &member, 1, deadline);
        result = result < 0 ? -1 : ready_found(set) & (int)events;
    }
    int error = errno;
    nest__channel_close(s, (unsigned)number, false);
    errno = error;
    return result;
}

int nest_wait_for(nest_session *s, int fd, unsigned events, uint32_t ms) {
    struct nest__trip *trip = nest__at_home(s);
    int result = ready_wait_for(s, fd, events, ms);
    nest__from_home(trip);
    return result;
}
