/* none.c: automata match all rules. No state. */
#include "backtracking.h"

int nest__backtracking_begin(struct nest__backtracker **to) {
    (void)to;
    return 0;
}

void nest__backtracking_end(struct nest__backtracker **worker) {
    (void)worker;
}

enum nest__backtracked nest__backtracking_match(struct nest__backtracker **worker, unsigned rule,
                                                const uint8_t *p, uint32_t n, bool whole,
                                                uint32_t *length) {
    (void)worker, (void)rule, (void)p, (void)n, (void)whole, (void)length;
    return NEST__BACKTRACKED_NO;
}

void nest__backtracking_ends(const struct nest__backtracker *worker, unsigned rule,
                             uint32_t tags[NEST__TAGS]) {
    (void)worker, (void)rule, (void)tags;
}
