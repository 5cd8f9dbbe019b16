/* endpoint.h: addresses to listen on, as text and as the kernel has them.
 *
 * Used by the listener, and by config to refuse a bad address before any socket opens. */
#ifndef NEST_LISTENER_ENDPOINT_H
#define NEST_LISTENER_ENDPOINT_H

#include "../seam.h"

#include <netinet/in.h>
#include <sys/un.h>

enum { NEST__ENDPOINT_REASON = 256 };

struct nest__endpoint {
    uint8_t kind;    /* enum nest__address_kind */
    bool systemd;    /* what systemd passes on: no address yet */
    bool everywhere; /* "*": IPv6 and IPv4 on one socket, or IPv4 where there is no IPv6 */
    socklen_t length;
    union {
        struct sockaddr_in four;
        struct sockaddr_in6 six;
        struct sockaddr_un local;
    } socket;
    char name[128]; /* as it was written */
};

/* Reads "127.0.0.1:8080", "[::1]:8080", "*:8080", "unix:/path" or "systemd".
 * 0; -EINVAL and the reason. */
int nest__endpoint_parse(const char *text, size_t n, struct nest__endpoint *,
                         char reason[NEST__ENDPOINT_REASON]);
/* Those of a list, in order, or if it is NULL all interfaces and this port: how many; -EINVAL and
 * the reason. */
int nest__endpoints(const char *list, uint32_t port, struct nest__endpoint[NEST__LISTEN_MAX],
                    char reason[NEST__ENDPOINT_REASON]);

#endif
