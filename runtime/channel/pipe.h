/* pipe.h: channel.h's operations for a pair of descriptors that are perhaps no sockets. Included by
 * channel.c. */
#ifndef NEST_CHANNEL_PIPE_H
#define NEST_CHANNEL_PIPE_H

#include "channel.h"

int64_t nest__pipe_receive(const struct nest__chan *, void *to, size_t n, enum nest__chan_how);
int64_t nest__pipe_send(const struct nest__chan *, const struct nest__out[], int n,
                        enum nest__chan_how);
void nest__pipe_peer(char *to, size_t size);

#endif
