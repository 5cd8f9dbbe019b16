/* listener.h: shared by the files of listener/, and the functions that main calls first.
 *
 * Included by listener/ and main. */
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

/* -- systemd.c, null/systemd.c */
/* Call it before start-up code: takes the sockets that systemd has passed on; child processes do
 * not inherit them. Returns 0, or -errno after a message. */
int nest__systemd_begin(void);
/* Turns all of them into listeners. Returns 0, or -errno after a message. */
int nest__systemd_listen(void);

/* -- inetd.c, null/inetd.c */
/* main calls it first: from then on, no log line goes into a connection on descriptor 2. */
void nest__inetd_begin(void);
/* Call it before start-up code: moves the connection or the listening socket away from descriptors
 * 0, 1 and 2. Returns 0, or -errno after a message. */
int nest__inetd_take(void);
/* Returns 0 if no other addresses may be opened, 1 if the option is not selected, or -errno after a
 * message. */
int nest__inetd_listen(void);
void nest__inetd_close(void);

#endif
