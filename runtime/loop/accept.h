/* accept.h: whether a loop accepts new clients, and when it tries again.
 *
 * Of one loop, on its thread. New clients wait in a listener's queue until there is a slot, and
 * nothing is short. */
#ifndef NEST_LOOP_ACCEPT_H
#define NEST_LOOP_ACCEPT_H

#include "../seam.h"

struct nest__accept {
    bool open;      /* listeners are armed */
    bool scarce;    /* memory is short: no client is accepted before the rest is over */
    bool over;      /* the loop is overloaded, and clients wait until it is not */
    bool done;      /* the loop takes no client any more */
    uint32_t first; /* the listener behind that of the last client; it may be one too many */
};
extern struct nest__accept nest__accept;

/* Listeners are armed, if there is no reason against it, or disarmed. Also to be called when a
 * session was released. */
void nest__accept_open(bool on);
/* So many sessions have something to do: services say whether new clients have to wait. */
void nest__accept_load(uint32_t actions);
/* -errno: something has run short; no client is accepted for a while. */
void nest__accept_pause(int error);
/* Opens the session of a connection that was taken. */
void nest__accept_session(nest_session *, const struct nest__arrival *);
void nest__accept_resume(void); /* that while, or that of a loop that yields, is over */
/* HUP. A loop that is one too many takes no client any more, and ends with its last one. */
void nest__accept_reload(void);

#endif
