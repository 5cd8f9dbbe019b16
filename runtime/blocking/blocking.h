/* blocking.h: io that waits right where it is, for worker models whose workers have one connection
 * each.
 */
#ifndef NEST_IO_BLOCKING_H
#define NEST_IO_BLOCKING_H

#include "../seam.h"
#include "../workers/stop.h"

#include <poll.h>
#include <stdatomic.h>

enum { NEST__BLOCKING_ENDED = POLLRDHUP };

/* The phase of the stop of every connection that is served: an enum nest__stop_phase. The worker
 * model raises it, never lowers it, and then wakes every worker that has a connection. */
extern _Atomic int nest__stop; /* lock-free: signal handlers set it, too */

/* Serves the connection to its end, but does not close its descriptors: that, and nest__released,
 * is the caller's. `buffer` has nest__receive_capacity() bytes and may be used by others
 * afterwards. True: the stop has cut it. */
bool nest__serve(nest_session *, const struct nest__arrival *, uint8_t *buffer);
/* An action has ended its thread: what its session has beside the descriptor is released. */
void nest__serve_lost(nest_session *);

/* What a poll of channel 0 looks for while its action waits for something else. */
static inline short nest__blocking_errors(const struct nest__chan *chan) {
    return (chan->state & NEST__CHAN_MINDS) != 0 ? NEST__BLOCKING_ENDED : 0;
}

/* The ms until a deadline, as poll takes them. */
int nest__blocking_left(uint32_t deadline);

/* How a worker is woken from its receive, so that it looks at the stop and at its deadline:
 * nest__wake_receiver on its connection's socket, and after that a signal to its thread whose
 * handler restarts calls (SA_RESTART). Nothing is lost before the receive, and nothing is cut off
 * by it. Async-signal-safe; may come late. In the cut also from its polls, which a signal just
 * before them misses: the worker model wakes it every NEST__NUDGE_MS until it has ended. */
void nest__wake_receiver(int fd);

/* A worker that nobody watches (nest__deadline_slot() is NULL) minds its time itself, a call more
 * for each receive. An eventfd wakes it, pipes included; -1 in all others. */
extern int nest__wake_fd;

#endif
