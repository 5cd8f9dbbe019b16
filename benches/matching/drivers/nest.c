/* nest.c: the matcher that nest emits, by the engine's interface to it (engine/engine.h), and the
 * actions, which have their parts from it.
 *
 * What a session does for a message, and nothing else of it: begin, feed, the action. It is the
 * only file here that knows the interface. */
#define main nest__main /* the server's own, which is not run */
#include "server.c"
#undef main

#include "bench.h"

#include <string.h>

size_t bench_at; /* actions.c: where the message begins */
static struct {
    const uint8_t *from;      /* the same */
    struct nest__match match; /* fed: how much of the message that has begun; 0: none */
} driver;
static nest_session driver_session; /* its states */
static struct nest__scratch driver_scratch;

bool bench_setup(void) {
    nest__config.input_buffer = 64 * 1024 * 1024;
    return true;
}

size_t bench_code(void) {
    return 0;
}

void bench_begin(const uint8_t *input) {
    driver.from = input;
    bench_at = 0;
    memset(&driver_session, 0, sizeof driver_session);
    driver_session.states = 1u << NEST__START_STATE | 1u << NEST__DEFAULT_STATE;
    driver_session.last = NEST_NO_STATE;
    driver.match.fed = 0;
}

bool bench_feed(uint8_t *piece, size_t n) {
    const uint8_t *from = driver.from, *limit = piece + n;
    while (from < limit) {
        enum nest__verdict verdict =
            nest__match_feed(&driver.match, &driver_scratch, driver_session.states,
                             driver_session.last, from, (uint32_t)(limit - from), false);
        if (verdict == NEST__UNDECIDED) {
            break;
        }
        if (verdict != NEST__DECIDED) {
            return false;
        }
        struct nest_message message = {from, driver.match.run.best_n, driver.match.run.tags};
        driver.match.fed = 0;
        from += message.n;
        nest__spec_act(&driver_session, NULL, driver.match.run.best, &message);
    }
    driver.from = from;
    return true;
}

bool bench_end(const uint8_t *end) {
    return driver.from == end && driver.match.fed == 0;
}
