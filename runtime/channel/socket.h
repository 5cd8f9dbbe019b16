/* socket.h: channel.h's operations for sockets. Included by channel.c. */
#ifndef NEST_CHANNEL_SOCKET_H
#define NEST_CHANNEL_SOCKET_H

#include "channel.h"

int64_t nest__socket_receive(const struct nest__chan *, void *to, size_t n, enum nest__chan_how);
/* The same without waiting; what is received stays there, for the next receive. */
int64_t nest__socket_peek(const struct nest__chan *, void *to, size_t n);
int64_t nest__socket_send(const struct nest__chan *, const struct nest__out[], int n,
                          enum nest__chan_how);
int64_t nest__socket_send_file(const struct nest__chan *, int fd, uint64_t at, uint64_t n);
int nest__socket_half_close(const struct nest__chan *);
void nest__socket_reset(const struct nest__chan *);
bool nest__socket_peer_bytes(const struct nest__chan *, uint8_t to[16]);
void nest__socket_peer(const struct nest__chan *, char *to, size_t size);

#endif
