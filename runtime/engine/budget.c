/* budget.c: how much memory and how many descriptors a client may need.
 *
 * Called by main and by worker models. No state. It lists what the engine holds for a client; each
 * service adds its own needs at the join points. Memory that actions allocate themselves and the
 * allocator's overhead are not included. */
#include "engine.h"

#include <string.h>

uint32_t nest__session_descriptors(bool most) {
    return 1 + nest__on_descriptors(most);
}

/* A message that an action keeps, and behind it another, or what a directive takes; or all that one
 * receive brought. */
uint64_t nest__rest_most(void) {
    uint64_t input = nest__config.input_buffer, lease = nest__lease();
    uint64_t behind = input + 2 > NEST__BEHIND_REST ? input + 2 : NEST__BEHIND_REST;
    return input + behind > lease ? input + behind : lease;
}

/* $0 and all parts, each with its NUL, and what is left at the ends of their blocks: less than the
 * next copy needs, and at the end less than a block. */
uint64_t nest__arena_most(void) {
    uint64_t input = nest__config.input_buffer, copies = 2 * input + NEST__PARTS + 1;
    return 2 * copies + (input + 1 > NEST__ARENA ? input + 1 : NEST__ARENA);
}

uint64_t nest__given_most(void) {
    return (uint64_t)nest__config.input_buffer + NEST__GIVEN;
}

unsigned nest__session_needs(struct nest__need needs[NEST__NEEDS]) {
    uint64_t input = nest__config.input_buffer, output = nest__config.output_buffer;
    uint64_t record = sizeof(struct nest_session), work = sizeof(struct nest__work);
    uint64_t variables =
        (nest__spec_vars_size + 63) / 64 * 64; /* as worker models place them, at most */
    const struct nest__need all[] = {
        {"session record", NULL, record, record},
        {"per-connection variables", NULL, variables, variables},
        {"state of the match, of the action", NULL, work, work},
        {"unread input", "inputBuffer", nest__rest_most(), input + NEST__BEHIND_REST},
        {"copies of parts", "inputBuffer", nest__arena_most(), 0},
        {"what $read gives", "inputBuffer", nest__given_most(), 0},
        {"queued output", "outputBuffer", nest__queue_most(output), output},
    };
    unsigned n = sizeof all / sizeof all[0];
    memcpy(needs, all, sizeof all);
    return n + nest__on_need(needs + n);
}
