/* epoll_accept.c: new connections become sessions, while there is room for them.
 *
 * Called by the other files of the epoll io. State: when it last said that something
 * had run short.
 * Must not know where connections come from. When descriptors or memory run short, who comes waits
 * in the listener's queue until something is freed. */
#include "../platform/platform.h"
#include "epoll.h"

#include <errno.h>
#include <string.h>

enum {
    ACCEPT_TOGETHER = 64, /* in one step */
    ACCEPT_REST_MS = 1000,
    ACCEPT_SILENCE_MS = 60000 /* one line for as long as this, however many it concerns */
};

static uint32_t accept_said; /* when; 0: never */

void nest__epoll_listen(bool on) {
    struct nest__epoll *io = &nest__epoll;
    bool failed = false;
    if (on == io->accepting || (on && (io->scarce || io->done))) {
        return;
    }
    io->accepting = on;
    for (unsigned i = 0; i < nest__listener_count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = NEST__EPOLL_LISTENERS - i};
        int how = on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL;
        failed = (epoll_ctl(io->fd, how, nest__listeners[i].fd, &event) == -1 && on) || failed;
    }
    if (failed) { /* no memory: all or none, and again later */
        nest__epoll_listen(false);
        nest__epoll_wake_after(NEST__EPOLL_RETRY, ACCEPT_REST_MS);
    }
}

void nest__epoll_rest(int error) {
    nest__epoll_listen(false);
    nest__epoll_wake_after(NEST__EPOLL_RETRY, ACCEPT_REST_MS);
    if (error == -ENOMEM || error == -ENOBUFS) {
        nest__epoll.scarce = true; /* the session that could not be served is no help */
    }
    if (accept_said == 0 ||
        nest__reached(nest__after(accept_said, ACCEPT_SILENCE_MS), nest__now())) {
        accept_said = nest__after(nest__now(), 0);
        nest__say("new clients wait until something is freed: %s; lower maxClients, or raise the "
                  "limit",
                  strerror(-error));
    }
}

/* During a stop: nobody waits in this queue any more. */
static void accept_over(const struct nest__listener *listener) {
    epoll_ctl(nest__epoll.fd, EPOLL_CTL_DEL, listener->fd, NULL);
    if (nest__listen_stop()) {
        nest__epoll_listen(false);
        nest__epoll.done = true;
    }
}

static void accept_begin(nest_session *s, const struct nest__arrival *arrival) {
    struct nest__window none = {NULL, 0, false};
    nest__epoll.due[NEST__EPOLL_PATIENCE] = 0;
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
    nest_session *s = nest__slot_take();
    unsigned taken = io->accepts;
    io->accepts = 0;
    if (s == NULL) {
        nest__epoll_listen(false);
        return;
    }
    int error = io->accepting ? nest__take(listener, &arrival, true) : -EAGAIN;
    if (error == 0) {
        /* Alone, a second one would most likely be in vain; in a crowd it saves asking for events.
         */
        if (io->count > 1 && taken < ACCEPT_TOGETHER) {
            io->accepts = taken + 1;
            io->next--; /* the same event again */
        }
        accept_begin(s, &arrival);
        return;
    }
    nest__slot_give(s, false);
    if (error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -ENOBUFS) {
        nest__epoll_rest(error);
    } else if (error == -EINVAL) {
        accept_over(listener);
    }
}

void nest__epoll_only(void) {
    struct nest__arrival arrival = {0};
    nest_session *s = nest__take_only(&arrival, true) ? nest__slot_take() : NULL;
    nest__epoll.done = true;
    if (s != NULL) {
        accept_begin(s, &arrival);
    }
}
