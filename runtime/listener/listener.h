/* listener.h: shared by the files of listener/ and the services that pass on sockets.
 *
 * Included by listener/, service/inetd/ and service/systemd/. */
#ifndef NEST_LISTENER_H
#define NEST_LISTENER_H

#include "../seam.h"

/* -- listener.c */
/* The kind and name of a connection or listener that another program has created. */
uint8_t nest__socket_kind(int fd, char *name, size_t size);
void nest__listener_unlink(unsigned index); /* removes its file if this process created it */

/* -- take.c: call it when all listeners are open. `given`: some are inherited and must not be shut
 * down, so that waiting workers must be woken in another way. Returns 0 or -errno. */
int nest__take_prepare(bool given);
void nest__take_close(void);

#endif
