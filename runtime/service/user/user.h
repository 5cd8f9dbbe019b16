/* user.h: options user and chroot: the processes that serve clients are not root.
 *
 * The supervisor stays what it is. It needs its rights to read the configuration again and to
 * remove the files of Unix sockets. */
#ifndef NEST_SERVICE_USER_H
#define NEST_SERVICE_USER_H

#include "../../seam.h"

/* Whether this process can do what the options say; a child tries it. 0, or -errno with a
 * message. */
int nest__user_check(void);
/* Warns if the server stays root; makes the configuration readable for processes that leave. */
int nest__user_prepare(void);
/* In a process that is about to serve: leaves root, for good. 0, or -errno with a message. */
int nest__user_serve(void);
/* Gives the file of a Unix socket to the user, who may not be able to open it otherwise. 0 or
 * -errno. */
int nest__user_own(const char *socket);

#endif
