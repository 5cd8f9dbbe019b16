/* What a generated filter knows of its protocol: the interface between the file that nest generates
 * and the filter's program: request.c, check.c or persist.c.
 * Must not know: sockets, the frame. */
#ifndef CCF_PROTOCOL_H
#define CCF_PROTOCOL_H

#include "ccfauto.h"

struct ccf_protocol {
    const char *name;               /* of the specification, for help */
    struct ccf_automaton automaton; /* of a message; `most` has the specification's limit */
    long timeout, idle;             /* ms: for a message from its first byte, and until that byte */
};

extern struct ccf_protocol ccf_protocol;

#endif
