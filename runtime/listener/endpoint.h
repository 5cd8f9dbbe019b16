/* endpoint.h: addresses to listen on, as text and in the kernel's format.
 *
 * Used by the listener, and by config, which refuses a wrong address before any socket opens. */
#ifndef NEST_LISTENER_ENDPOINT_H
#define NEST_LISTENER_ENDPOINT_H

#include "../seam.h"

#include <netinet/in.h>
#include <sys/un.h>

enum { NEST__ENDPOINT_REASON = 256 };

struct nest__endpoint {
    uint8_t kind;    /* enum nest__address_kind */
    bool systemd;    /* sockets from systemd, whose addresses are not known yet */
    bool proxied;    /* "proxy" follows: connections begin with the header of a proxy */
    bool encrypted;  /* "tls" follows: connections begin with a handshake */
    bool everywhere; /* "*": IPv6 and IPv4 on one socket; only IPv4 on systems without IPv6 */
    socklen_t length;
    union {
        struct sockaddr_in four;
        struct sockaddr_in6 six;
        struct sockaddr_un local;
    } socket;
    char name[128]; /* as written by the user */
};

/* Parses an address of IPv6, or of a link with its interface, as in fe80::1%eth0. 0; -EINVAL, and
 * in *why what is wrong, behind "the address"; NULL: it is no address of IPv6. */
int nest__endpoint_six(const char *text, struct sockaddr_in6 *to, const char **why);
/* Parses "127.0.0.1:8080", "[::1]:8080", "*:8080", "unix:/path" or "systemd". Returns 0, or -EINVAL
 * and the reason. */
int nest__endpoint_parse(const char *text, size_t n, struct nest__endpoint *,
                         char reason[NEST__ENDPOINT_REASON]);
/* Parses a list of addresses in order; "proxy" and "tls" may follow each. If it is NULL, uses all
 * interfaces with this port. Returns the number of addresses, or -EINVAL and the reason. */
int nest__endpoints(const char *list, uint32_t port, struct nest__endpoint[NEST__LISTEN_MAX],
                    char reason[NEST__ENDPOINT_REASON]);

#endif
