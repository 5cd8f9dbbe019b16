/* ready.h: the sessions of a loop that have a turn, without waiting for their client.
 *
 * ready.c: first in, first out. ready_classes.c, with option priorities: by classes. Then what
 * clients send, and clients that wait to be accepted, wait for turns as well. */
#ifndef NEST_LOOP_READY_H
#define NEST_LOOP_READY_H

#include "../seam.h"

void nest__ready_add(nest_session *);
nest_session *nest__ready_take(void);  /* the one whose turn it is; NULL */
void nest__ready_drop(nest_session *); /* it has no turn coming; it need not be in the list */
uint32_t nest__ready_count(void);
/* How many turns there are before the loop looks for completions again; 0: it may sleep. */
uint32_t nest__ready_turns(void);
/* The loop has to look for completions before it goes on, even if turns are left. */
bool nest__ready_soon(void);
/* Takes what a client has sent, for the session's turn. False: it has to be looked at now. */
bool nest__ready_hold(nest_session *, struct nest__window *);
bool nest__ready_held(const nest_session *); /* such a session, before its turn */
/* Clients wait at this listener. False: one has to be accepted now. */
bool nest__ready_listener(unsigned index);
/* Accepts a client if it is a listener's turn. False: it is a session's. */
bool nest__ready_accept(void);
bool nest__ready_paces(void); /* accepting waits for turns: nobody accepts several in a row */
/* A client of this listener gets a session. */
void nest__ready_arrives(nest_session *, unsigned listener);

#endif
