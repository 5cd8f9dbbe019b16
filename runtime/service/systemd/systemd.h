/* systemd.h: listening sockets that systemd passes on. */
#ifndef NEST_SERVICE_SYSTEMD_H
#define NEST_SERVICE_SYSTEMD_H

#include "../../seam.h"

/* Takes what systemd has passed on to this process; its children do not get it. 0, or -errno with a
 * message. */
int nest__systemd_prepare(void);
/* listener/: makes a listener of each of these sockets. 0, or -errno with a message. */
int nest__systemd_listen(void);

#endif
