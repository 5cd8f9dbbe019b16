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
    const struct nest__run *run = &driver.match.run;
    const struct bench_rule *rule = &bench_rules[run->best];
    action.rule = run->best;
    action.p = driver.from;
    action.n = run->best_n;
    action.parsed = false;
    action.marks[NEST__MARK_START] = 0;
    action.marks[NEST__MARK_END] = run->best_n;
    for (unsigned i = 0; i < nest__rules[action.rule].tags; i++) {
        action.marks[NEST__MARK_TAG + i] = run->tags[i];
    }
    for (unsigned i = 0; i < rule->count; i++) {
        nest_bytes part = {driver.from, action.n};
        if (rule->parts[i].part > 0) {
            part = nest__part(&action, &driver_scratch, rule->parts[i].part);
        }
        size_t start = (size_t)((const uint8_t *)part.p - driver.input);
        bench_part(rule->parts[i].kind, start, start + part.n);
    }
    driver.states = rule->states;
}

bool bench_feed(uint8_t *piece, size_t n) {
    const uint8_t *limit = piece + n;
    while (driver.from < limit) {
        if (!driver.matching) {
            struct nest__active active;
            nest__spec_active(driver.states, NEST_NO_STATE, &active);
            nest__match_begin(&driver.match, &active, driver.from);
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
        driver.from += driver.match.run.best_n;
    }
    return true;
}

bool bench_end(const uint8_t *end) {
    return driver.from == end && !driver.matching;
}
