/* tls.h: channel.h's operations for encrypted sockets. Included by channel.h, in all servers; only
 * those where NEST__TLS is 1 have the functions.
 *
 * A channel is encrypted from nest__tls_begin to nest__tls_end. The record is found by the number
 * of the descriptor, so that the channels of a server need no room for it. */
#ifndef NEST_CHANNEL_TLS_H
#define NEST_CHANNEL_TLS_H

#include "../seam.h"

int nest__tls_prepare(void);                    /* before workers are forked. 0 or -errno */
int nest__tls_begin(const struct nest__chan *); /* 0 or -ENOMEM; nothing is received or sent */
struct ssl_st;
/* The same as a client; owns this SSL, which says whom to trust, even if it fails. */
int nest__tls_begin_asking(const struct nest__chan *, struct ssl_st *);
void nest__tls_end(const struct nest__chan *); /* frees what it has; sends nothing */
/* Is encrypted: its bytes move only by the operations, not through its descriptor. */
bool nest__tls_is(const struct nest__chan *);
/* A step of the handshake. 0: it is done; -EAGAIN; -ECONNRESET: it has failed. */
int nest__tls_shake(const struct nest__chan *);
/* Its handshake is one of those that together may take NEST__TLS_TURN_US of a turn of a loop; what
 * is left is for the next turn. Without turns there is no bound. */
void nest__tls_in_turns(const struct nest__chan *);
void nest__tls_turn(void); /* a turn begins */
enum { NEST__TLS_TURN_US = 500 };

/* As the operations of channel.h, once the handshake is done. Before, a receive continues the
 * handshake and returns -EISCONN when it is done; -EALREADY: nothing more in this turn, try again
 * in the next one, without waiting for input. An end of input without the client's close_notify is
 * -ECONNRESET, because it may be an attack. `now`: does not wait, although the descriptor may.
 */
int64_t nest__tls_receive(const struct nest__chan *, void *to, size_t n, bool now);
int64_t nest__tls_send(const struct nest__chan *, const struct nest__out[], int n);
int64_t nest__tls_send_file(const struct nest__chan *, int fd, uint64_t at, uint64_t n);

/* As nest__chan_given; `sent` counts bytes before they are encrypted. */
uint64_t nest__tls_given(const struct nest__chan *, uint64_t sent);
/* A receive would get bytes that were received from the socket already. */
bool nest__tls_holds_input(const struct nest__chan *);
/* Bytes of the protocol itself wait for room in the socket. The next operation sends them. */
bool nest__tls_holds_output(const struct nest__chan *);
/* Tells the client that no output follows. True: nothing of it waits for room in the socket. */
bool nest__tls_bye(const struct nest__chan *);

/* -- service/tls supplies */
/* Connections of this listener are encrypted from their beginning. */
bool nest__tls_wanted(uint8_t listener);
/* Whether its handshake may begin; if not, it is reset. */
bool nest__tls_admits(nest_session *);
uint32_t nest__tls_limit(void); /* how long a handshake may take, in ms */

#endif
