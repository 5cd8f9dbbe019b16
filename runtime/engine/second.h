/* second.h: what the files share that do directives on a session's further channels, which
 * specifications call second connections.
 *
 * Included by engine/ and service/dial. An action names a second connection by a handle: its
 * channel's number, and the generation of the channel's record. So the handle of one that was
 * closed never names another one. */
#ifndef NEST_ENGINE_SECOND_H
#define NEST_ENGINE_SECOND_H

#include "../channel/channel.h"
#include "channels.h"
#include "engine.h"

/* -- second.c */
int nest__second_handle(const struct nest__further *);
/* The channel, if the action may use it; NULL and errno. */
struct nest__further *nest__second_use(nest_session *, int handle);
/* Waits for any of the members, at most until the deadline (0: none). 0; -1 and errno: ETIMEDOUT,
 * or the action was cut short. */
int nest__second_wait(nest_session *, struct nest__member *, unsigned count, uint32_t deadline);
/* The same for one member, until the client has said something as well, or has ended its output. 0:
 * something has come for the member; 1: only the client has said something; -1 and errno. */
int nest__second_beside_client(nest_session *, struct nest__member *, uint32_t deadline);
/* The channel of a handle, if more may be sent on it; NULL and errno. */
struct nest__further *nest__second_output(nest_session *, int handle);
/* When a read from it ends that begins now. */
uint32_t nest__second_read_until(const struct nest__further *);
/* The channel of a read, whose unread bytes are as they were received; NULL and errno. */
struct nest__further *nest__second_input(nest_session *, int handle);
/* Copies unread bytes, at most n. How many. */
size_t nest__second_copy(struct nest__further *, void *to, size_t n);
/* The other side of this channel is gone. -1 and errno. */
int nest__second_gone(nest_session *, struct nest__further *);
/* When a wait that may take `ms` ends; 0: never. */
uint32_t nest__second_until(uint32_t ms);

/* -- bytes.c */
/* Puts back the byte that a NUL has replaced. Called before unread bytes are looked at. */
void nest__second_restore(struct nest__further *);
/* Receives bytes behind the unread ones. How many; 0: end of file; -1 and errno. */
int64_t nest__second_more(nest_session *, struct nest__further *, uint32_t need, uint32_t deadline);
/* Makes space for `need` unread bytes and a NUL. 0 or -ENOMEM. */
int nest__second_space(struct nest__further *, uint32_t need);

#endif
