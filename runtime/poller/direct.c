/* direct.c: receives and sends that complete inside the call.
 *
 * Called by epoll, and by script while it completes operations at once. State: the buffer that is
 * lent. Must not know the language, nor kinds of channels. */
#include "direct.h"
#include "../channel/channel.h"

#include <errno.h>
#include <poll.h>

uint8_t nest__direct_buffer[NEST__VISIT_IN];

int64_t nest__direct_receive(nest_session *s, struct nest__chan *chan,
                             struct nest__window *window) {
    uint32_t room = nest__receive_space(s, chan, &window->p);
    window->lent = window->p == NULL;
    if (window->lent) {
        window->p = nest__direct_buffer;
    }
    int64_t n = nest__chan_receive(chan, window->p, room, NEST__CHAN_PLAIN);
    if (n == -EAGAIN || n == -EINTR) {
        nest__chan_received(chan, false); /* nothing waits, even of a client that never sent */
        return -EAGAIN;
    }
    if (n > 0) {
        window->n = (uint32_t)n;
        nest__chan_received(chan, window->n == room);
    }
    return n;
}

bool nest__direct_both(nest_session *s, struct nest__chan *chan, uint32_t events,
                       struct nest__completion *done) {
    done->name = nest__name_of(s, chan, NEST__OP_RECEIVE);
    if ((events & ~(uint32_t)POLLOUT) != 0 || nest__chan_eager(chan)) {
        done->result = nest__direct_receive(s, chan, &done->window);
        if (done->result != -EAGAIN) {
            return true;
        }
    }
    if ((events & POLLOUT) == 0) {
        return false;
    }
    done->name = nest__name_of(s, chan, NEST__OP_SEND);
    done->result = 0;
    return true;
}

int nest__direct_push(nest_session *s, struct nest__chan *chan) {
    struct nest__out out[NEST__CHAN_VECTORS];
    int pieces;
    while ((pieces = nest__out_next(s, chan, out, NEST__CHAN_VECTORS)) > 0) {
        uint64_t all = 0;
        for (int i = 0; i < pieces; i++) {
            all += out[i].n;
        }
        int64_t n = nest__chan_send_out(chan, out, pieces, NEST__CHAN_PLAIN);
        if (NEST__SPLICES && n == -EOPNOTSUPP && nest__out_copy(s, chan) == 0) {
            continue;
        }
        if (n < 0) {
            return n == -EAGAIN ? 0 : -ECONNRESET;
        }
        nest__loop_spend((uint64_t)n);
        nest__chan_sent(chan);
        nest__out_sent(s, chan, (uint64_t)n);
        if ((uint64_t)n < all) {
            return 0;
        }
    }
    return 0;
}

int64_t nest__direct_send_file(struct nest__chan *chan, int fd, uint64_t at, uint64_t n) {
    int64_t sent = nest__chan_send_file(chan, fd, at, n);
    if (sent > 0) {
        nest__loop_spend((uint64_t)sent);
        nest__chan_sent(chan);
    }
    return sent;
}
