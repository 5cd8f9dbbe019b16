/* listener.h: what the listener's files share with the services that hand over sockets.
 *
 * Included by listener/, service/inetd/ and service/systemd/. */
#ifndef NEST_LISTENER_H
#define NEST_LISTENER_H

#include "../seam.h"

/* -- listener.c */
/* A connection or listener that somebody else has made: what it is, and its name. */
uint8_t nest__socket_kind(int fd, char *name, size_t size);
void nest__listener_unlink(unsigned index); /* its file, if this process made it */

/* -- take.c: when all listeners are open. `given`: some are not ours to shut down, so that who
 * waits for them must be waked in another way. 0 or -errno. */
int nest__take_prepare(bool given);
void nest__take_close(void);

#endif
