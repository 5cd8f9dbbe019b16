/* parts.c: where the elements of a match end: the preferred path over exactly its bytes.
 *
 * Called by directives.c, when an action asks for a part: from what the automaton has left, or else
 * by a pass over the message. State: the worker's scratch during the call. Must not know io. */
#include "engine.h"

#include <string.h>

static void parts_from_path(struct nest__action *action, const uint32_t *path, unsigned parts) {
    uint32_t before = 0;
    for (unsigned i = 0; i + 1 < parts; i++) {
        if (path[i] > before) {
            before = path[i];
        }
        action->ends[i] = before;
    }
    action->ends[parts - 1] = action->message.n; /* the last has no mark: it ends with the match */
}

/* All of action->ends, by the rule's nfa. */
static void parts_pass(struct nest__action *action, struct nest__scratch *scratch) {
    const struct nest__rule *rule = &nest__rules[action->rule];
    const struct nest__nfa *nfa = rule->nfa;
    unsigned parts = rule->parts;
    action->parsed = true;
    memset(scratch->path, 0, parts * sizeof scratch->path[0]);
    if (parts == 1 || nfa == NULL) { /* NULL: no action asks for a part of this rule but $0 */
        parts_from_path(action, scratch->path, parts);
        return;
    }
    unsigned now = 0;
    scratch->lists[now].count = 0;
    nest__threads_begin(scratch);
    nest__threads_add(scratch, nfa, nfa->start, now, parts, 0, NEST__PASS_OVER);
    for (uint32_t i = 0; i < action->message.n; i++) {
        const struct nest__threads *list = &scratch->lists[now];
        enum nest__on_match on_match = i + 1 == action->message.n ? NEST__STOP_AT : NEST__PASS_OVER;
        uint8_t byte = action->message.p[i];
        nest__threads_begin(scratch);
        scratch->lists[1 - now].count = 0;
        for (unsigned t = 0; t < list->count; t++) {
            const struct nest__nfa_state *state = &nfa->states[list->states[t]];
            if ((nfa->sets[state->set][byte >> 6] >> (byte & 63) & 1) == 0) {
                continue;
            }
            memcpy(scratch->path, &scratch->marks[now][(size_t)t * parts],
                   parts * sizeof scratch->path[0]);
            if (nest__threads_add(scratch, nfa, (uint16_t)state->next, 1 - now, parts, i + 1,
                                  on_match)) {
                parts_from_path(action, scratch->path, parts);
                return;
            }
        }
        now = 1 - now;
    }
    memset(scratch->path, 0, parts * sizeof scratch->path[0]); /* tables that disagree */
    parts_from_path(action, scratch->path, parts);
}

static uint32_t part_place(const struct nest__action *action, const struct nest__cut *cut) {
    switch (cut->mark) {
    case NEST__MARK_START:
        return cut->by;
    case NEST__MARK_END:
        return action->message.n + cut->by;
    default:
        return action->tags[cut->mark - NEST__MARK_TAG] + cut->by;
    }
}

nest_bytes nest__part(struct nest__action *action, struct nest__scratch *scratch, unsigned n) {
    const struct nest__cut *cuts = nest__rules[action->rule].cuts;
    uint32_t from, to;
    if (cuts != NULL && cuts[n - 1].mark != NEST__MARK_NONE && cuts[n].mark != NEST__MARK_NONE) {
        from = part_place(action, &cuts[n - 1]);
        to = part_place(action, &cuts[n]);
    } else {
        if (!action->parsed) {
            parts_pass(action, scratch);
        }
        from = n == 1 ? 0 : action->ends[n - 2];
        to = action->ends[n - 1];
    }
    return (nest_bytes){action->message.p + from, to - from};
}
