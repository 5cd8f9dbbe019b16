/* inetd.h: option inetd: another program listens, and starts this server. */
#ifndef NEST_SERVICE_INETD_H
#define NEST_SERVICE_INETD_H

#include "../../seam.h"

/* From here on no message of the server gets into a conversation on descriptor 2. */
void nest__inetd_begin(void);
/* Takes the conversation, or the listening socket, off the descriptors 0, 1 and 2. 0, or -errno
 * with a message. */
int nest__inetd_prepare(void);

/* -- listener/; none.c stands for these two, nest__take_only and nest__listen_idle_exit */

/* 0: this server opens no listener of its own; 1: it does; -errno, with a message. */
int nest__inetd_listen(void);
void nest__inetd_close(void);

#endif
