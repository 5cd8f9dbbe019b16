/* end.c: how connections end: at once, after lingering, or cut off.
 *
 * Called by the other files of loop/. No state; sessions that linger are in the wheel. Must not
 * know why a session ended. */
#include "loop.h"
#include "share.h"
#include "../channel/channel.h"
#include "../service/filters/returns.h"
#include "accept.h"
#include "channels.h"
#include "wheel.h"

#include <errno.h>

enum { END_CLOSED = -1 }; /* the descriptor of channel 0, while further channels are left */

/* Nothing can name it any more. */
static void end_gone(nest_session *s) {
    nest__released(s);
    nest__slot_give(s, true);
    nest__share_give();
    nest__accept_open(true);
    if (nest__slots_taken() == 0) {
        nest__due_after(NEST__DUE_IDLE_EXIT, nest__listen_idle_exit());
    }
}

void nest__end_closed(nest_session *s) {
    if (nest__channels_left(s)) {
        s->phase = NEST__LEAVING;
        s->c0.fd = END_CLOSED;
    } else {
        end_gone(s);
    }
}

void nest__end_parted(nest_session *s) {
    if (s->phase == NEST__LEAVING && s->c0.fd == END_CLOSED && !nest__channels_left(s)) {
        end_gone(s);
    }
}

void nest__end_release(nest_session *s, struct nest__chan *chan) {
    nest__wheel_drop(&s->until);
    s->flags &= (uint8_t)~NEST__LINGERING;
    if (nest__poller_close(s, chan)) {
        nest__end_closed(s);
    } else {
        s->phase = NEST__LEAVING;
    }
}

/* `n` bytes of input have come and are dropped. True: there will be no more, or it was enough. */
static bool end_dropped(nest_session *s, int64_t n) {
    s->discarded += n > 0 ? (uint64_t)n : 0;
    return (n <= 0 && n != -EAGAIN) || s->discarded > NEST__LINGER_BYTES;
}

/* What has come, and no more. */
static void end_drop(nest_session *s, struct nest__chan *chan) {
    struct nest__window window;
    int64_t n = 1;
    while (n > 0 && nest__chan_pending(chan)) {
        n = nest__poller_receive(s, chan, &window);
        n = end_dropped(s, n) ? 0 : n;
    }
}

/* Closing over unread input would destroy what the client has not read. */
void nest__end_finish(nest_session *s, struct nest__chan *chan) {
    uint32_t limit = nest__config.linger_timeout, most = nest__chan_bye_limit();
    if (NEST__CHAN_BYES && (chan->state & NEST__CHAN_CUT) == 0 && !nest__loop.cut &&
        !nest__chan_bye(chan)) {
        if (most != 0 && nest__poller_await(s, chan, NEST__AWAIT_OUTPUT)) {
            s->discarded = 0;
            s->flags |= NEST__LINGERING;
            nest__session_until(s, nest__after(nest__now(), most));
        } else {
            nest__end_release(s, chan);
        }
        return;
    }
    if (NEST__ENCODES > 0 && nest__encodes_failed(chan)) {
        chan->state |= NEST__CHAN_CUT; /* what the client has is not whole */
    }
    nest__chan_strip(chan); /* what still comes is only dropped */
    if ((chan->state & NEST__CHAN_CUT) != 0 || nest__loop.cut || nest__goes_back(s) ||
        !(nest__unread(s) || nest__chan_unread(chan)) || nest__chan_half_close(chan) < 0) {
        nest__end_release(s, chan);
        return;
    }
    s->discarded = 0;
    if (limit == 0) {
        end_drop(s, chan);
    }
    if (limit == 0 || !nest__poller_await(s, chan, NEST__AWAIT_INPUT)) {
        nest__end_release(s, chan);
        return;
    }
    s->flags |= NEST__LINGERING;
    nest__session_until(s, nest__after(nest__now(), limit));
}

void nest__end_received(nest_session *s, struct nest__chan *chan, int64_t n) {
    if (end_dropped(s, n) || !nest__poller_await(s, chan, NEST__AWAIT_INPUT)) {
        nest__end_release(s, chan);
    }
}
