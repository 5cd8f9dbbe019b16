/* channels.h: how a loop serves the further channels of its sessions.
 *
 * Channel 0 is visited (loop/visit.c). A further channel is read only while an action waits on it.
 * Its queued output is sent whatever its session does. Servers whose sessions have only channel 0
 * use channels_none.c. */
#ifndef NEST_LOOP_CHANNELS_H
#define NEST_LOOP_CHANNELS_H

#include "loop.h"

/* Called before a session waits on one channel: submits the operations of the others. Closes those
 * of a session that has ended. 0; -ECONNRESET or -ENOMEM: the session does not wait. */
int nest__channels_settle(nest_session *);
/* Called before an action moves to another thread: sends what can be sent. Nothing else happens on
 * the further channels until its session waits again, or the action has ended. */
void nest__channels_rest(nest_session *);
/* Looks after the client of a session that waits on a further channel, as in a pause. 0;
 * -ECONNRESET or -ENOMEM. */
int nest__channels_first(nest_session *);
/* Handles the completion of an operation on a channel that its session does not wait on. */
nest_session *nest__channels_completed(nest_session *, struct nest__chan *,
                                       const struct nest__completion *);
/* Handles a deadline slot whose time has come. False: the slot belongs to a session. */
bool nest__channels_expired(uint32_t number);
/* True: some are not closed yet. */
bool nest__channels_left(const nest_session *);
/* True: the session has ended, and some of its channels still have output to send. */
bool nest__channels_deliver(const nest_session *);

#endif
