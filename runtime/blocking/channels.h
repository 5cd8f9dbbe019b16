/* channels.h: a worker that waits for one of several channels of its connection.
 *
 * channels_none.c stands for channels.c in servers whose sessions have channel 0 alone. */
#ifndef NEST_BLOCKING_CHANNELS_H
#define NEST_BLOCKING_CHANNELS_H

#include "../seam.h"

/* nest__wait, while the output of the other channels leaves. False: there are no others, and
 * nothing was done. */
bool nest__several_wait(nest_session *, const struct nest__wait *, int *result);
/* At a read point, before a receive that waits: until the client has sent something, no other
 * channel has output, the deadline has come, or a stop has begun. */
void nest__several_attend(nest_session *, uint32_t deadline);
/* The session has ended: delivers the output of its further channels and closes them. True: the
 * stop has cut one. */
bool nest__several_end(nest_session *);

#endif
