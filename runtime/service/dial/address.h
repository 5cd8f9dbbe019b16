/* address.h: the addresses that an action dials. */
#ifndef NEST_SERVICE_DIAL_ADDRESS_H
#define NEST_SERVICE_DIAL_ADDRESS_H

#include "../../seam.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
    NEST__DIAL_HOST = 256, /* the length of a name of DNS, and a NUL */
    NEST__DIAL_ADDRESSES = 8
};

struct nest__dial_address {
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
        struct sockaddr_un local;
    } socket;
    socklen_t length;
    uint8_t kind; /* enum nest__address_kind */
};

/* Splits "HOST:PORT" or "[IPv6]:PORT", and recognises "unix:/path". *count is 1 if the address is a
 * number or a path; 0 if `host` is a name, to be looked up. 0; -EINVAL, and in *why what is wrong,
 * behind "the address", or NULL: it has none of these forms. */
int nest__dial_parse(const char *text, char host[NEST__DIAL_HOST], uint16_t *port,
                     struct nest__dial_address *address, unsigned *count, const char **why);
void nest__dial_port(struct nest__dial_address *, uint16_t port);
/* In the order in which they are tried: as they are, but the families alternate (RFC 8305, 4). */
void nest__dial_alternate(struct nest__dial_address[], unsigned count);

#endif
