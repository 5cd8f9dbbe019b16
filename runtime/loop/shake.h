/* shake.h: connections whose handshake comes before START. Only where NEST__TLS is 1.
 *
 * Such a connection has a slot, in phase NEST__SHAKING; its session has not been opened. If its
 * listener says `proxy`, a header comes in clear before the handshake.
 *
 * It ends at its time limit. While three quarters of maxClients are connected, and more than half
 * of this loop's connections are such ones, those end that have lasted a second, or two if their
 * clients go on sending: others can come. */
#ifndef NEST_LOOP_SHAKE_H
#define NEST_LOOP_SHAKE_H

#include "loop.h"

/* False: the session can be opened at once. */
bool nest__shake_begin(nest_session *, const struct nest__arrival *);
void nest__shake_received(nest_session *, int64_t result); /* of NEST__OP_RECEIVE */
void nest__shake_ready(nest_session *, int64_t result);    /* of NEST__OP_SEND: input has come */
void nest__shake_turn(nest_session *);                     /* of the ready list */
void nest__shake_look(nest_session *);                     /* its `until` is reached */
void nest__shake_give_up(nest_session *);                  /* the server stops */

#endif
