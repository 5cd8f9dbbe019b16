/* share.h: what a loop asks the worker model, because other loops may serve clients of the same
 * listeners.
 *
 * A loop counts the clients that it serves. All loops together serve at most maxClients. A loop
 * that serves more clients than the others leaves new ones to them. */
#ifndef NEST_LOOP_SHARE_H
#define NEST_LOOP_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/* -- the worker model supplies */
/* Whether the loop is to listen for new clients. False: it rests, and nest__share_fd becomes
 * readable when it should ask again. */
bool nest__share_listens(void);
/* Counts one more client. False: the loop is not to take one, and nothing was counted. Then
 * nest__share_listens says whether it rests. */
bool nest__share_take(void);
/* Whether it rests because others have fewer clients. After NEST__SHARE_MS it insists: it listens,
 * and takes the next client. */
bool nest__share_yields(void);
void nest__share_insist(void);
enum { NEST__SHARE_MS = 20 };
void nest__share_give(void); /* one client less */
/* While the loop is overloaded it takes no clients, and others leave it none. */
void nest__share_overloaded(bool over);
/* How many clients all loops serve. */
uint32_t nest__share_clients(void);
/* A descriptor for the loop; -1: it has listeners of its own. */
int nest__share_fd(void);
void nest__share_woken(void); /* the descriptor was readable */
/* HUP: reads the configuration again. False: this loop is to end when its last client has left. */
bool nest__share_reload(void);

#endif
