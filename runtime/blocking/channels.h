/* channels.h: how a worker that blocks waits when its session has several channels.
 *
 * Servers whose sessions have only channel 0 use channels_none.c. */
#ifndef NEST_BLOCKING_CHANNELS_H
#define NEST_BLOCKING_CHANNELS_H

#include "../seam.h"

/* nest__wait that also sends the output of the other channels. False: there are no others, and it
 * did nothing. */
bool nest__several_wait(nest_session *, const struct nest__wait *, int *result);
/* Sends the output of the further channels. *due: the earliest of their deadlines; 0: none. */
void nest__several_move(nest_session *, uint32_t *due);
/* Called at a read point before a receive that waits. Sends the output of further channels until
 * they have none, the client has sent something, the deadline has come, or a stop has begun. */
void nest__several_attend(nest_session *, uint32_t deadline);
/* Sends the output of the further channels of a session that has ended, and closes them. True: the
 * stop has cut one. */
bool nest__several_end(nest_session *);
/* The same of a session whose action has ended its thread: they are reset. */
void nest__several_lost(nest_session *);

#endif
