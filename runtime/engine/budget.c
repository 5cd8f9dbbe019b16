/* budget.c: the memory and descriptors that a client can need, as far as the engine holds them.
 *
 * Called by main. No state. What actions allocate themselves is theirs to bound, and what the
 * allocator adds to a block is not told by it. */
#include "engine.h"

enum { BUDGET_FILES = 2 }; /* of one that is received: itself, and the directory of its name */

uint32_t nest__session_descriptors(bool most) {
    bool files = most ? nest__files_memory() > 0 : nest__uploads_memory() > 0;
    return 1 + (files ? BUDGET_FILES : 0);
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
    uint64_t files = nest__files_memory(), uploads = nest__uploads_memory();
    const struct nest__need all[] = {
        {"session record", NULL, record, record},
        {"per-connection variables", NULL, variables, variables},
        {"state of the match, of the action", NULL, work, work},
        {"unread input", "inputBuffer", nest__rest_most(), input + NEST__BEHIND_REST},
        {"copies of parts", "inputBuffer", nest__arena_most(), 0},
        {"what $read gives", "inputBuffer", nest__given_most(), 0},
        {"queued output", "outputBuffer", nest__queue_most(output), output},
        {"$keep", "keepLimit", nest__kept_most(), 0},
        {"a file on its way", NULL, files, files},
        {"an upload", NULL, uploads, uploads},
        {"lists of folders", NULL, nest__lists_memory(), 0},
    };
    unsigned n = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i].most > 0) {
            needs[n++] = all[i];
        }
    }
    return n;
}
