/* Messages of cc-chain to a filter: there is one, the request to finish (CC__DRAIN).
 * Must not know: connections. */
#define _GNU_SOURCE
#include "frame.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static struct ccf_watch control = {.fd = CCF__CONTROL};
static bool stays, over;

static void on_control(struct ccf_watch *watch, uint32_t events) {
    struct cc__message message = {.bytes = NULL};
    (void)events;
    int got = over ? -EAGAIN : cc__receive(watch->fd, &message, MSG_DONTWAIT);
    if (got == 1 && message.head.type == CC__DRAIN) {
        if (message.count == 1)
            ccf__down_leave(message.fds[0]);
        stays = (message.head.flags & CC__STAY) != 0;
        ccf__up_stop((message.head.flags & CC__LINGER) != 0);
    } else if (got == 1) {
        cc__close_all(message.fds, message.count);
    } else if (got == 0) {
        /* cc-chain has died. The filter goes on until the server ends. In front of an unmodified
         * server it finishes now, because cc-condition starts another chain. */
        ccf_watch_remove(watch);
        over = true;
        stays = false;
        if (ccf_peeks())
            ccf__up_stop(false);
    }
}

void ccf__control_look(void) {
    on_control(&control, 0);
}

bool ccf__stays(void) {
    return stays;
}

bool ccf__control_start(void) {
    control.call = on_control;
    return ccf_watch_add(&control, EPOLLIN);
}
