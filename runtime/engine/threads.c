/* threads.c: ordered thread lists of an NFA, in Perl's order of preference.
 *
 * Called by matcher.c (rules without a dfa) and parts.c (with marks). State: the worker's scratch,
 * which nobody needs any longer than one call of those. Must not know sessions. */
#include "engine.h"

#include <string.h>

/* Before the threads at one position are added. */
void nest__threads_begin(struct nest__scratch *scratch) {
    if (++scratch->stamp == 0) {
        memset(scratch->seen, 0, sizeof scratch->seen);
        scratch->stamp = 1;
    }
}

/* Appends to list `to` the threads that `from` stands for, the preferred first; of duplicates the
 * first counts. parts > 0: path holds the thread's marks, and is as before on return. STOP_AT: true
 * as soon as a thread is at Match, with its marks in path: all behind it are dropped. PASS_OVER:
 * such a thread alone is dropped. Each state is entered once, so that frames cannot overflow. */
bool nest__threads_add(struct nest__scratch *scratch, const struct nest__nfa *nfa, uint16_t from,
                       unsigned to, unsigned parts, uint32_t at, enum nest__on_match on_match) {
    struct nest__threads *list = &scratch->lists[to];
    struct nest__frame *frames = scratch->frames;
    unsigned depth = 0;
    if (scratch->seen[from] == scratch->stamp) {
        return false;
    }
    scratch->seen[from] = scratch->stamp;
    frames[depth++] = (struct nest__frame){from, 0, 0};
    while (depth > 0) {
        struct nest__frame *frame = &frames[depth - 1];
        const struct nest__nfa_state *state = &nfa->states[frame->state];
        uint16_t next;
        switch ((enum nest__op)state->op) {
        case NEST__MATCH:
            if (on_match == NEST__STOP_AT) {
                return true;
            }
            depth--;
            continue;
        case NEST__BYTE:
            if (parts > 0) {
                memcpy(&scratch->marks[to][(size_t)list->count * parts], scratch->path,
                       parts * sizeof scratch->path[0]);
            }
            list->states[list->count++] = frame->state;
            depth--;
            continue;
        case NEST__MARK:
            if (frame->target == 1) {
                if (parts > 0) {
                    scratch->path[state->part] = frame->saved;
                }
                depth--;
                continue;
            }
            frame->target = 1;
            if (parts > 0) {
                frame->saved = scratch->path[state->part];
                scratch->path[state->part] = at;
            }
            next = (uint16_t)state->next;
            break;
        default: /* NEST__SPLIT */
            if (frame->target == state->set) {
                depth--;
                continue;
            }
            next = nfa->targets[state->next + frame->target++];
            break;
        }
        if (scratch->seen[next] != scratch->stamp) {
            scratch->seen[next] = scratch->stamp;
            frames[depth++] = (struct nest__frame){next, 0, 0};
        }
    }
    return false;
}
