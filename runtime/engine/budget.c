/* budget.c: the memory and descriptors that a client can need, as far as the engine holds them.
 *
 * Called by main. No state. What actions allocate themselves is theirs to bound. */
#include "engine.h"

enum { BUDGET_FILES = 2 }; /* of one that is received: itself, and the directory of its name */

uint32_t nest__session_descriptors(bool most) {
    bool files = most ? nest__files_memory() > 0 : nest__uploads_memory() > 0;
    return 1 + (files ? BUDGET_FILES : 0);
}

uint64_t nest__session_memory(bool most) {
    uint64_t input = nest__config.input_buffer, output = nest__config.output_buffer;
    uint64_t fixed = sizeof(struct nest_session) + nest__spec_vars_size +
                     sizeof(struct nest__work) + nest__files_memory() + nest__uploads_memory();
    if (!most) { /* a message that never ends, and answers that are never read */
        return fixed + input + NEST__BEHIND_REST + output;
    }
    uint64_t rest = 2 * (input + NEST__BEHIND_REST); /* a message, and what is read behind it */
    uint64_t copies = 3 * input;                     /* $0, all parts, $read */
    return fixed + rest + copies + 2 * (output + NEST__BEHIND_REST) + nest__config.keep_limit +
           nest__lists_memory();
}
