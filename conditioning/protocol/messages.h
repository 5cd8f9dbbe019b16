/* What the generated `request` and `persist` share: they package messages by the automaton of
 * protocol.h, under the limits of the specification.
 * Must not know: what is done with a message. */
#ifndef CCF_MESSAGES_H
#define CCF_MESSAGES_H

#include "ccfpack.h"

extern struct ccf_packing ccf_messages; /* the filter sets `done` */

/* Runs the filter. Its help says `before`, the protocol's name and `behind`; `idle` is the time
 * that the option of this name limits. */
int ccf_messages_main(struct ccf_filter *filter, const char *before, const char *behind,
                      const char *idle, int argc, char **argv);

#endif
