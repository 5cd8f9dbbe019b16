/* direct.h: operations that complete inside the call, for pollers that learn when a channel is
 * ready: it is tried, and what did not go is tried again when it is ready. */
#ifndef NEST_POLLER_DIRECT_H
#define NEST_POLLER_DIRECT_H

#include "poller.h"

extern uint8_t nest__direct_buffer[NEST__VISIT_IN]; /* what is lent */

int64_t nest__direct_receive(nest_session *, struct nest__chan *, struct nest__window *);
/* Of a channel that awaits input and output, and is ready for `events` of poll(2): receives, or
 * says that output is possible. False: neither. */
bool nest__direct_both(nest_session *, struct nest__chan *, uint32_t events,
                       struct nest__completion *);
int nest__direct_push(nest_session *, struct nest__chan *);
int64_t nest__direct_send_file(struct nest__chan *, int fd, uint64_t at, uint64_t n);

#endif
