/* listener.h: what the listener's files share, and main's first calls.
 *
 * Included by listener/ and main. */
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

/* -- systemd.c, null/systemd.c */
/* Before start-up code: what systemd has passed on to this process; children do not get it. 0;
 * -errno, said why. */
int nest__systemd_begin(void);
/* All of it becomes listeners. 0, or -errno and said why. */
int nest__systemd_listen(void);

/* -- inetd.c, null/inetd.c */
/* First thing in main: nothing that is said gets into a conversation on descriptor 2. */
void nest__inetd_begin(void);
/* Before start-up code: takes the conversation, or the listening socket, off the descriptors 0, 1
 * and 2. 0, or -errno and said why. */
int nest__inetd_take(void);
/* 0: nothing else listens; 1: the option is not selected; -errno, said why. */
int nest__inetd_listen(void);
void nest__inetd_close(void);

#endif
