/* channels.c: waits for one channel of a connection and sends on the others; see channels.h.
 *
 * Called by blocking.c and, to close a channel, by the engine. No state. Must not know the
 * language. All waiting is one poll of the channels that have something to wait for. */
#include "channels.h"
#include "../channel/channel.h"
#include "../channel/pool.h"
#include "any.h"
#include "blocking.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

enum { SEVERAL_LOOK_MS = 100 }; /* a signal just before a poll is missed: it is looked for again */

static bool several_cut(void) {
    return atomic_load(&nest__stop) >= NEST__CUTTING;
}

static bool several_overdue(uint32_t deadline) {
    return deadline != 0 && nest__reached(deadline, nest__now());
}

/* Sends on every further channel but the one that is waited for. How many have output left; the
 * earliest of their deadlines. */
static unsigned several_move(nest_session *s, const struct nest__chan *served, uint32_t *due) {
    unsigned count = 0;
    *due = 0;
    for (struct nest__further *further = nest__further_next(s, 0); further != NULL;
         further = nest__further_next(s, further->number)) {
        struct nest__chan *chan = &further->chan;
        if (chan == served || nest__out_queued(s, chan) == 0) {
            continue;
        }
        if (nest__push(s, chan) < 0) {
            nest__chan_lost(s, chan, NEST__CHAN_GONE);
        } else if (nest__chan_overdue(s, chan)) {
            nest__chan_lost(s, chan, NEST__CHAN_CUT);
        } else if (nest__out_queued(s, chan) > 0) {
            *due = nest__earlier(*due, nest__chan_deadline(s, chan));
            count++;
        }
    }
    return count;
}

/* Waits until the channel that is served has one of the events, another one can send, or the client
 * is gone, at most until the deadline and at most `most` ms. What the served one has; *client: what
 * channel 0 has, if it is another one. */
static int several_poll(nest_session *s, struct nest__chan *served, short events, uint32_t deadline,
                        int most, int *client) {
    struct pollfd ready[NEST__FURTHER + 3];
    nfds_t n = 2;
    ready[0] =
        (struct pollfd){.fd = nest__chan_descriptor(served, events != POLLIN), .events = events};
    ready[1] = (struct pollfd){.fd = -1};
    if (served != &s->c0 && client != NULL) {
        ready[1].fd = nest__chan_descriptor(&s->c0, true);
        ready[1].events = (short)((nest__out_queued(s, &s->c0) > 0 ? POLLOUT : 0) |
                                  nest__blocking_errors(&s->c0));
    }
    for (struct nest__further *further = nest__further_next(s, 0); further != NULL;
         further = nest__further_next(s, further->number)) {
        if (&further->chan != served && nest__out_queued(s, &further->chan) > 0) {
            ready[n++] = (struct pollfd){.fd = nest__chan_descriptor(&further->chan, true),
                                         .events = POLLOUT};
        }
    }
    ready[n] = (struct pollfd){.fd = nest__wake_fd, .events = POLLIN}; /* -1 is passed over */
    int left = nest__blocking_left(deadline);
    int found = poll(ready, n + 1, most == -1 || (left != -1 && left < most) ? left : most);
    if (found > 0 && ready[n].revents != 0) {
        uint64_t count;
        (void)!read(nest__wake_fd, &count, sizeof count);
    }
    if (client != NULL) {
        *client = found > 0 ? ready[1].revents : 0;
    }
    return found > 0 ? ready[0].revents : 0;
}

/* One receive that does not wait; -EAGAIN: nothing has come. */
static int64_t several_receive(const struct nest__wait *wait) {
    struct nest__chan *chan = wait->chan;
    int64_t n = nest__chan_receive(chan, wait->into, wait->room, NEST__CHAN_NOW);
    if (n > 0) {
        nest__chan_received(chan, (uint32_t)n == wait->room);
    } else if (n == 0) {
        chan->state |= NEST__CHAN_EOF;
    } else if (n == -EAGAIN) {
        nest__chan_received(chan, false);
    }
    return n == -EINTR ? -EAGAIN : n;
}

/* What the wait is for has come; -EAGAIN: it has not. Output was pushed. */
static int several_came(nest_session *s, const struct nest__wait *wait) {
    uint64_t queued = nest__out_queued(s, wait->chan);
    int64_t n = -EAGAIN;
    if (wait->what == NEST__DRAINED && queued <= wait->mark) {
        return 0;
    }
    if (wait->what == NEST__INPUT && queued == 0) {
        n = several_receive(wait);
    }
    if (n == -EAGAIN && several_overdue(wait->deadline)) {
        return wait->what == NEST__TIME ? 0 : -ETIMEDOUT;
    }
    return (int)n;
}

/* `minds`: its client's end ends the wait. */
static int several_wait(nest_session *s, const struct nest__wait *wait, bool minds) {
    struct nest__chan *chan = wait->chan;
    const int over = POLLERR | POLLHUP | POLLRDHUP;
    for (;;) {
        uint32_t due;
        int client = 0;
        if (several_cut()) {
            return -ECANCELED;
        }
        (void)several_move(s, chan, &due);
        if (minds && chan != &s->c0 && nest__push(s, &s->c0) < 0) {
            client = POLLERR;
        } else {
            int result = nest__push(s, chan) < 0 ? -ECONNRESET : several_came(s, wait);
            if (result != -EAGAIN) {
                return result == -ECONNRESET && several_cut() ? -ECANCELED : result;
            }
            bool queued = nest__out_queued(s, chan) > 0;
            short errors = chan == &s->c0 ? nest__blocking_errors(chan) : 0;
            bool blocked = wait->what == NEST__INPUT && nest__chan_blocked(chan);
            bool eager = wait->what == NEST__INPUT && !blocked && nest__chan_eager(chan);
            short events = queued || blocked           ? POLLOUT
                           : wait->what == NEST__INPUT ? POLLIN
                                                       : errors;
            int ready = several_poll(s, chan, events, nest__earlier(wait->deadline, due),
                                     eager && !queued ? 0 : -1, minds ? &client : NULL);
            if (events == errors && (ready & over) != 0) {
                return several_cut() ? -ECANCELED : -ECONNRESET;
            }
        }
        if ((client & over) != 0) {
            if (several_cut()) {
                return -ECANCELED;
            }
            (void)nest__event(s, NEST__EVENT_RESET); /* an action runs: it is noted, and no more */
            return -ECONNRESET;
        }
    }
}

void nest__several_move(nest_session *s, uint32_t *due) {
    (void)several_move(s, NULL, due);
}

bool nest__several_wait(nest_session *s, const struct nest__wait *wait, int *result) {
    if (wait->what == NEST__ANY) {
        *result = nest__any_wait_here(s, wait);
        return true;
    }
    bool several = nest__further_any(s) && wait->what != NEST__WORK;
    if (several) {
        *result = several_wait(s, wait, true);
    }
    return several;
}

void nest__several_attend(nest_session *s, uint32_t deadline) {
    bool stopping = nest__stopping();
    uint32_t due;
    while (several_move(s, &s->c0, &due) > 0) {
        int came =
            several_poll(s, &s->c0, POLLIN, nest__earlier(deadline, due), SEVERAL_LOOK_MS, NULL);
        if (came != 0 || several_overdue(deadline) || nest__stopping() != stopping ||
            several_cut()) {
            return;
        }
    }
}

/* True: the stop has cut it. */
static bool several_close(nest_session *s, struct nest__further *further, bool cut) {
    struct nest__chan *chan = &further->chan;
    struct nest__wait wait = {.what = NEST__DRAINED, .chan = chan};
    int result = 0;
    while (!cut && nest__out_queued(s, chan) > 0) {
        wait.deadline = nest__chan_deadline(s, chan);
        result = several_wait(s, &wait, false);
        if (result == -ECONNRESET) {
            nest__chan_lost(s, chan, NEST__CHAN_GONE);
        } else {
            cut = result == -ECANCELED || (result == -ETIMEDOUT && nest__chan_overdue(s, chan));
        }
    }
    if (cut) {
        nest__chan_lost(s, chan, NEST__CHAN_CUT);
    } else {
        (void)nest__chan_bye(chan);
    }
    nest__chan_close(chan);
    nest__chan_released(s, chan);
    return result == -ECANCELED;
}

void nest__chan_end(nest_session *s, struct nest__chan *chan, bool cut) {
    (void)several_close(s, nest__further_of(s, chan), cut);
}

bool nest__several_end(nest_session *s) {
    bool cut = false;
    for (struct nest__further *further = nest__further_next(s, 0); further != NULL;
         further = nest__further_next(s, 0)) {
        cut = several_close(s, further, false) || cut;
    }
    return cut;
}

void nest__several_lost(nest_session *s) {
    for (struct nest__further *further = nest__further_next(s, 0); further != NULL;
         further = nest__further_next(s, 0)) {
        (void)several_close(s, further, true);
    }
}
