/* accept.h: whether a loop takes newcomers, and when it tries again.
 *
 * Called by io's that have a loop (epoll; script, with virtual time), of one thread. Who comes
 * waits in a listener's queue until there is a slot, and nothing is short. */
#ifndef NEST_LOOP_ACCEPT_H
#define NEST_LOOP_ACCEPT_H

#include "../seam.h"

struct nest__accept {
    bool open;   /* listeners are armed */
    bool scarce; /* memory is short: nobody is taken before the rest is over */
    bool done;   /* nobody comes any more */
};
extern struct nest__accept nest__accept;

/* Listeners are armed, if there is no reason against it, or disarmed. Also to be called when a
 * session was released. */
void nest__accept_open(bool on);
/* -errno: something has run short; nobody is taken for a while. */
void nest__accept_pause(int error);
void nest__accept_resume(void); /* that while is over */
/* Who waits at an armed listener gets a slot. NULL: nobody is taken; *error: why, 0: no slot. */
nest_session *nest__accept_take(struct nest__listener *, struct nest__arrival *, int *error);

/* -- io supplies */
/* All listeners; 0 or -errno, then perhaps some of them. Disarming does not fail. */
int nest__io_arm(bool on);
void nest__io_rest(
    uint32_t ms); /* nest__accept_resume then, and not at an earlier time asked for */

#endif
