/* The PROXY protocol, versions 1 and 2: the line or block by which a proxy says who its client is.
 */
#ifndef PROXY_HEADER_H
#define PROXY_HEADER_H

#include "ccfilter.h"

enum { HEADER_MOST = 536 + 16 }; /* longest header that is accepted, and made */

/* Reads a header. Returns its size, 0 if more bytes are needed, -1 if it is malformed. If it names
 * a client, *from is set; otherwise the sender of the connection is the client. */
int header_read(const char *bytes, size_t n, struct ccf_address *from);

/* Writes a header for a client and the address it connected to. Returns its size. */
size_t header_write(int version, const struct ccf_address *from, const struct ccf_address *to,
                    char out[HEADER_MOST]);

#endif
