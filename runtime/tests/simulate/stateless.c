/* stateless.c: what the simulated specifications have in common whose rules are active always, and
 * that have no TIMEOUT rule.
 *
 * Included by the files with their actions. No state. */
int nest__spec_timer(uint64_t states, unsigned last) {
    (void)states, (void)last;
    return -1;
}

bool nest__spec_active(uint64_t states, unsigned last, struct nest__active *active) {
    (void)states, (void)last;
    active->bits[0] = 1;
    return true;
}

unsigned nest__spec_standalone(const struct nest__active *active, uint16_t *rules) {
    (void)active;
    for (uint16_t rule = 0; rule < NEST__RULES; rule++) {
        rules[rule] = rule;
    }
    return NEST__RULES;
}

#include "spec.c"
