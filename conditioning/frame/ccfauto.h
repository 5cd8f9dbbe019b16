/* A framer that follows an automaton, for protocols whose messages a table describes. nest
 * generates such filters from specifications.
 * Must not know: sockets, what a message means. */
#ifndef CCFAUTO_H
#define CCFAUTO_H

#include "ccfpack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A table of `states` rows with `classes` entries each. State 0: nothing can follow; 1: a message
 * ends here, and nothing can follow; from 2 to `silent` - 1: a message may end here; from `silent`
 * on: it may not. */
struct ccf_automaton {
    const uint8_t *class_of; /* of each byte */
    const uint16_t *next;    /* next[state * classes + class] */
    uint16_t classes, start, silent;
    bool at_once; /* a message ends where it may end and no more bytes are there */
    long most;    /* the longest message that can be decided */
};

/* For `feed` and `end` of a framer. It refuses "malformed" requests, which no byte could complete,
 * and "oversized" ones. */
enum ccf_need ccf_auto_feed(const struct ccf_automaton *automaton, struct ccf_frame *frame,
                            const char *bytes, size_t n);
bool ccf_auto_end(struct ccf_frame *frame);

/* Whether these bytes are one message, neither more nor less. */
bool ccf_auto_matches(const struct ccf_automaton *automaton, const char *bytes, size_t n);

#ifdef __cplusplus
}
#endif

#endif
