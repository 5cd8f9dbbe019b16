/* peer.c: who is at the other end of a socket.
 *
 * Called by features and the report of a crash, so async-signal-safe; part of every io that has
 * sockets. No state. */
#include "../platform/platform.h"

#include <errno.h>

void nest__peer_text(const struct nest__chan *chan, char *to, size_t size) {
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    int saved = errno;
    if (getpeername(chan->fd, (struct sockaddr *)(void *)&address, &length) == -1) {
        /* A reset takes the address along. */
        nest_strlcpy(to, NEST__PIPES && chan->kind == NEST__PIPE ? "pipe" : "gone", size);
    } else {
        nest__address_text((const struct sockaddr *)(const void *)&address, to, size);
    }
    errno = saved;
}
