/* channels.h: how a loop serves the further channels of its sessions.
 *
 * Channel 0 is visited (loop/visit.c). A further channel is read only while an action waits on it;
 * what is queued on it leaves whatever its session does. channels_none.c stands for channels.c in
 * servers whose sessions have channel 0 alone. */
#ifndef NEST_LOOP_CHANNELS_H
#define NEST_LOOP_CHANNELS_H

#include "loop.h"

/* Before a session waits: every channel but the one that it waits on awaits what it must. Those of
 * a session that has ended are closed. 0; -ECONNRESET, -ENOMEM: the wait is over before it began.
 */
int nest__channels_settle(nest_session *);
/* An operation of a channel that its session does not wait on has completed. */
nest_session *nest__channels_completed(nest_session *, struct nest__chan *,
                                       const struct nest__completion *);
/* The time of a deadline slot has come. False: it is a session's. */
bool nest__channels_expired(uint32_t number);
/* Some are not yet closed. */
bool nest__channels_left(const nest_session *);
/* Some still have output, although the session needs none of it: it has ended. */
bool nest__channels_deliver(const nest_session *);

#endif
