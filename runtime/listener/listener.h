/* listener.h: what the files of listener/ share with the services that have sockets.
 *
 * Included by listener/, and by services that take sockets or listen for themselves. */
#ifndef NEST_LISTENER_H
#define NEST_LISTENER_H

#include "endpoint.h"

/* -- open.c */
struct nest__socket_file { /* of a Unix socket */
    struct sockaddr_un address;
    dev_t device;
    ino_t inode;
    pid_t maker; /* the process that created it; 0: none did */
};
/* Opens a listening socket that is not `given`; *file is set if it is a Unix socket. 0, or -errno
 * after a message. */
int nest__socket_listen(const struct nest__endpoint *, struct nest__listener *,
                        struct nest__socket_file *file);
void nest__socket_unlink(struct nest__socket_file *); /* if this process created it */
/* The kind and name of a connection or listener that another program has created. */
uint8_t nest__socket_kind(int fd, char *name, size_t size);

/* -- listener.c */
void nest__listener_unlink(unsigned index); /* removes its file if this process created it */

/* -- take.c, or links.c where filters accept: call it when all listeners are open. `given`: some
 * are inherited and must not be shut down, so that waiting workers must be woken in another way.
 * Returns 0, or -errno after a message. */
int nest__take_prepare(bool given);
void nest__take_close(void);

#endif
