/* header.h: the header of the PROXY protocol, versions 1 and 2, which arrives in pieces.
 *
 * Included by proxied.c and by the fuzzer. */
#ifndef NEST_SERVICE_PROXIED_HEADER_H
#define NEST_SERVICE_PROXIED_HEADER_H

#include <stdint.h>

enum {
    NEST__HEADER_MOST = 107
}; /* of version 1; version 2 needs 52, and what follows is skipped */

enum nest__header_from {
    NEST__HEADER_OWN,  /* the connection speaks for itself: LOCAL, UNKNOWN, UNSPEC */
    NEST__HEADER_INET, /* the first 16 of the bytes are an address of IPv6, or ::ffff:a.b.c.d */
    NEST__HEADER_UNIX
};
struct nest__header { /* begins as zeroes */
    uint8_t from;     /* enum nest__header_from; NEST__HEADER_OWN until it is known */
    uint8_t n;        /* of the bytes */
    uint16_t skip;    /* how many more bytes belong to it; their values do not matter */
    uint16_t port;
    uint8_t bytes[NEST__HEADER_MOST];
};

/* Takes bytes of the header from p, and says in *used how many. What follows is not looked at.
 * Returns an enum nest__headed: more are needed, it is complete, or it is no header. */
int nest__header_take(struct nest__header *, const uint8_t *p, uint32_t n, uint32_t *used);

#endif
