/* many.h: how a loop waits for any of several channels (NEST__ANY).
 *
 * Servers without the feature `dial` use many_none.c: none of their actions waits so. */
#ifndef NEST_LOOP_MANY_H
#define NEST_LOOP_MANY_H

#include "loop.h"

/* The member of the wait of this session that is this channel; NULL: it does not wait so, or the
 * channel is no member. */
struct nest__member *nest__member_of(const nest_session *, const struct nest__chan *);
/* Sends the output of the members, and receives what may have come. True: something has come for
 * one of them. */
bool nest__many_ended(nest_session *, const struct nest__wait *);
/* Awaits what each member needs. False: no memory. */
bool nest__many_await(nest_session *, const struct nest__wait *);
/* Handles the completion of a member's operation. Returns the session if its wait is over. */
nest_session *nest__many_completed(nest_session *, struct nest__member *,
                                   const struct nest__completion *);
/* Where a member's input is received, and how many bytes. */
uint32_t nest__many_space(struct nest__member *, uint8_t **p);

#endif
