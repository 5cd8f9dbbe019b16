/* nest.c: the matcher that nest emits, by the engine's interface to it (engine/engine.h).
 *
 * What a session does for a message, and nothing else of it: which rules are active, begin, feed,
 * parts; no action runs. rules.h says what is reported of each rule, and which states follow it.
 * It is the only file here that knows the interface. */
#define main nest__main /* the server's own, which is not run */
#include "server.c"
#undef main

#include "bench.h"
#include "rules.h"

size_t bench_at; /* of the actions, none of which runs */
static struct {
    const uint8_t *input, *from; /* from: where the message begins */
    uint64_t states;
    bool matching;
    struct nest__match match;
} driver;
static struct nest__scratch driver_scratch;

bool bench_setup(void) {
    nest__config.input_buffer = 64 * 1024 * 1024;
    return true;
}

size_t bench_code(void) {
    return 0;
}

void bench_begin(const uint8_t *input) {
    driver.input = driver.from = input;
    driver.states = 1u << NEST__START_STATE | 1u << NEST__DEFAULT_STATE;
    driver.matching = false;
}

static void report(void) {
    struct nest__action action;
    const struct bench_rule *rule = &bench_rules[driver.match.best];
    size_t base = (size_t)(driver.from - driver.input);
    action.rule = driver.match.best;
    action.p = driver.from;
    action.n = driver.match.best_n;
    if (rule->count > 0 && rule->parts[0].part > 0) {
        nest__parts_find(&action, &driver_scratch);
    }
    for (unsigned i = 0; i < rule->count; i++) {
        unsigned part = rule->parts[i].part;
        uint32_t start = part <= 1 ? 0 : action.ends[part - 2];
        uint32_t end = part == 0 ? action.n : action.ends[part - 1];
        bench_part(rule->parts[i].kind, base + start, base + end);
    }
    driver.states = rule->states;
}

bool bench_feed(uint8_t *piece, size_t n) {
    const uint8_t *limit = piece + n;
    while (driver.from < limit) {
        if (!driver.matching) {
            uint16_t active[NEST__RULES];
            unsigned count = nest__spec_active(driver.states, NEST_NO_STATE, active);
            nest__match_begin(&driver.match, active, count, driver.from);
            driver.matching = true;
        }
        enum nest__verdict verdict = nest__match_feed(&driver.match, &driver_scratch, driver.from,
                                                      (uint32_t)(limit - driver.from), false);
        if (verdict == NEST__UNDECIDED) {
            return true;
        }
        if (verdict != NEST__DECIDED) {
            return false;
        }
        report();
        driver.matching = false;
        driver.from += driver.match.best_n;
    }
    return true;
}

bool bench_end(const uint8_t *end) {
    return driver.from == end && !driver.matching;
}
