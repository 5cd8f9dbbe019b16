/* channels.h: what an action does with the further channels of its session (channel/pool.h).
 *
 * For directives; included by engine/channels.c. A function that fails
 * sets errno:
 *
 *   ECONNRESET  the other side is gone; or the client is, and then every later directive fails
 *   ETIMEDOUT   the time is over; or the other side has not read its output within writeTimeout,
 *               and the channel can no longer be used
 *   EBADF       there is no such channel
 *   ECANCELED   the action or the channel was cut short
 *
 * A session ends only by what ends a wait on channel 0: its client, the stop, or lack of memory. */
#ifndef NEST_ENGINE_CHANNELS_H
#define NEST_ENGINE_CHANNELS_H

#include "../channel/pool.h"

/* Makes an open descriptor a channel of the session, which then owns it. In a loop the descriptor
 * must be non-blocking. Returns the channel's number; -1: the caller still owns the descriptor, and
 * EMFILE says that no number is free. */
int nest__channel_attach(nest_session *, int fd, uint8_t kind);
/* Queues n bytes; waits while outputBuffer is full. 0 or -1. */
int nest__channel_write(nest_session *, unsigned number, const void *p, size_t n);
/* Waits until all output was sent. 0 or -1. */
int nest__channel_flush(nest_session *, unsigned number);
/* Sends all queued output, then waits for bytes for at most `ms`; 0: without a limit. Returns how
 * many; 0: end of file; -1. */
int64_t nest__channel_read(nest_session *, unsigned number, void *into, uint32_t room, uint32_t ms);
/* Waits for `ms`, or until the other side is gone. 0 or -1. */
int nest__channel_pause(nest_session *, unsigned number, uint32_t ms);
/* Closes the channel. Queued output is still sent, unless `cut`. 0 or -1. */
int nest__channel_close(nest_session *, unsigned number, bool cut);

/* -- for the engine's other files */
/* The channel, if the action may use it; NULL and errno. */
struct nest__further *nest__channel_use(nest_session *, unsigned number);
/* nest__wait on a further channel. Output for the client that is overdue cuts the session. The
 * result of nest__wait; -1 and errno. */
int nest__channel_wait(nest_session *, struct nest__further *, struct nest__wait);
/* Until at most `mark` bytes are queued; a channel that makes no progress in time is lost. 0 or -1.
 */
int nest__channel_drain(nest_session *, struct nest__further *, uint64_t mark);

#endif
