/* backtracking.h: rules that automata cannot express are matched by libpcre2.
 *
 * Called by the matcher, and by worker models, whose workers have a stack for it each. In servers
 * without such rules these functions do nothing. */
#ifndef NEST_SERVICE_BACKTRACKING_H
#define NEST_SERVICE_BACKTRACKING_H

#include "../../seam.h"

#ifndef NEST__BACKTRACKING
#define NEST__BACKTRACKING 0
#endif

struct nest__backtracking { /* a rule that libpcre2 matches */
    const char *text;       /* the pattern */
    const uint16_t *groups; /* the groups around the elements whose ends are tags, in their order */
    unsigned count;
};
struct nest__backtracker; /* what a worker needs to match such rules */

enum nest__backtracked {
    NEST__BACKTRACKED_NO,       /* no text that begins with these bytes is matched */
    NEST__BACKTRACKED_YES,      /* the match does not depend on what follows these bytes */
    NEST__BACKTRACKED_MORE,     /* what follows these bytes may decide */
    NEST__BACKTRACKED_EXCEEDED, /* it takes more steps or memory than the limit; logged */
};

/* -- in main; nonzero ends the server */
int nest__backtracking_check(void);
/* -- for the budget: the memory for the stack of libpcre2 */
extern const bool nest__backtracking_shared; /* all clients of a process have the same */
struct nest__need nest__backtracking_need(void);

/* Allocates what a worker needs, at *to, unless it is there. Returns 0 or -ENOMEM. */
int nest__backtracking_begin(struct nest__backtracker **to);
void nest__backtracking_end(struct nest__backtracker **);
/* Matches a rule from the first of n > 0 bytes on. `whole`: nothing follows them, so that the
 * result is not MORE. YES: *length is the length of the match, at least 1. Allocates nothing. */
enum nest__backtracked nest__backtracking_match(struct nest__backtracker **, unsigned rule,
                                                const uint8_t *p, uint32_t n, bool whole,
                                                uint32_t *length);
/* After YES: the ends of the elements that the rule's action uses. */
void nest__backtracking_ends(const struct nest__backtracker *, unsigned rule,
                             uint32_t tags[NEST__TAGS]);

#endif
