/* channels.h: what an action does with the further channels of its session (channel/pool.h).
 *
 * For directives; included by engine/channels.c. A function that fails returns what it says and
 * sets errno:
 *
 *   ECONNRESET  the other side is gone, or the client is: then every later directive fails as well
 *   ETIMEDOUT   the time is over; or the other side has not taken what it was sent within
 *               writeTimeout, and the channel carries nothing any more
 *   EBADF       there is no such channel
 *   ECANCELED   the action was cut short, or the channel was
 *
 * Only what ends a wait of channel 0 ends the session: its client, the stop, and lack of memory. */
#ifndef NEST_ENGINE_CHANNELS_H
#define NEST_ENGINE_CHANNELS_H

#include "../seam.h"

/* An open descriptor, which does not block in a loop, becomes a channel of the session, which
 * closes it from here on. Its number; -1: the descriptor is still the caller's. EMFILE: the session
 * has as many as it may. */
int nest__channel_attach(nest_session *, int fd, uint8_t kind);
/* Queues all of it; waits while outputBuffer is full. 0 or -1. */
int nest__channel_write(nest_session *, unsigned number, const void *p, size_t n);
/* Waits until everything has left. 0 or -1. */
int nest__channel_flush(nest_session *, unsigned number);
/* Waits for bytes, behind everything that is queued, for at most `ms`, 0: without a limit. How
 * many; 0: end of file; -1. */
int64_t nest__channel_read(nest_session *, unsigned number, void *into, uint32_t room, uint32_t ms);
/* Waits for that time; the end of the other side ends it earlier. 0 or -1. */
int nest__channel_pause(nest_session *, unsigned number, uint32_t ms);
/* Closes it: what is queued still leaves, unless `cut`. 0 or -1. */
int nest__channel_close(nest_session *, unsigned number, bool cut);

#endif
