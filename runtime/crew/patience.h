/* patience.h: how long crews of blocking carriers wait for any client.
 *
 * Their carriers do not tell of every connection: somebody looks now and then. */
#ifndef NEST_CREW_PATIENCE_H
#define NEST_CREW_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

struct nest__patience { /* zeroed is a new one */
    uint64_t next, ended;
    uint32_t quiet; /* looks in a row that found nobody, and nobody gone */
};
/* A look, if one is due. True: the server may end. *timeout becomes smaller if the next look comes
 * before. `limit`: nest__listen_patience(). */
bool nest__patience_over(struct nest__patience *, uint32_t limit, bool busy, uint64_t ended,
                         int *timeout);
/* The sooner of two timeouts of poll. */
static inline int nest__sooner(int a, int b) {
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

#endif
