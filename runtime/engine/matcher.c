/* matcher.c: which rule takes how many bytes: the longest match, of several the first written.
 *
 * Called by session.c. State: one struct nest__match, owned by the caller; it resumes wherever the
 * bytes end, so that no byte is looked at twice. Must not know sessions, actions or io.
 *
 * Rules run side by side in one automaton, or each over the new bytes on its own. That is the same:
 * a rule's threads do not depend on the others, and nothing is decided before the bytes are used up
 * or no rule is live. */
#include "engine.h"

#include <string.h>

/* Most rules end at the first byte: they are not begun. */
static void match_begin_standalone(struct nest__match *match, uint8_t first) {
    const uint64_t *live = &nest__first[(size_t)first * NEST__RULE_WORDS];
    uint16_t rules[NEST__RULES];
    unsigned count = nest__spec_standalone(&match->run.active, rules);
    match->live = 0;
    for (unsigned i = 0; i < count; i++) {
        uint16_t rule = rules[i];
        if ((live[rule / 64] >> rule % 64 & 1) == 0) {
            continue;
        }
        const struct nest__dfa *dfa = nest__rules[rule].dfa;
        match->rules[match->live].rule = rule;
        match->rules[match->live].state = dfa == NULL ? 0 : dfa->start;
        match->live++;
    }
}

/* Bytes [from, to) through a dfa. The new state, 0 if it is not live any more; *accepted: the
 * length of its last acceptance, unchanged if there was none. */
static uint16_t match_dfa(const struct nest__dfa *dfa, uint16_t state, const uint8_t *bytes,
                          uint32_t from, uint32_t to, uint32_t *accepted) {
    for (uint32_t i = from; i < to; i++) {
        state = dfa->next[(size_t)state * dfa->class_count + dfa->classes[bytes[i]]];
        if (state < dfa->first_silent) {
            if (state == 0) {
                return 0;
            }
            *accepted = i + 1;
            if (state == 1) {
                return 0;
            }
        }
    }
    return state;
}

/* The same by a thread list; `kept` holds its `count` threads, and the new ones on return. */
static uint16_t match_threads(const struct nest__nfa *nfa, struct nest__scratch *scratch,
                              uint16_t *kept, uint16_t count, const uint8_t *bytes, uint32_t from,
                              uint32_t to, uint32_t *accepted) {
    unsigned now = 0;
    scratch->lists[now].count = count;
    memcpy(scratch->lists[now].states, kept, count * sizeof kept[0]);
    if (from == 0) { /* an empty match is passed over */
        scratch->lists[now].count = 0;
        nest__threads_begin(scratch);
        nest__threads_add(scratch, nfa, nfa->start, now, 0, 0, NEST__PASS_OVER);
    }
    for (uint32_t i = from; i < to && scratch->lists[now].count > 0; i++) {
        const struct nest__threads *list = &scratch->lists[now];
        uint8_t byte = bytes[i];
        nest__threads_begin(scratch);
        scratch->lists[1 - now].count = 0;
        for (unsigned t = 0; t < list->count; t++) {
            const struct nest__nfa_state *state = &nfa->states[list->states[t]];
            if ((nfa->sets[state->set][byte >> 6] >> (byte & 63) & 1) == 0) {
                continue;
            }
            if (nest__threads_add(scratch, nfa, (uint16_t)state->next, 1 - now, 0, i + 1,
                                  NEST__STOP_AT)) {
                *accepted = i + 1;
                break;
            }
        }
        now = 1 - now;
    }
    memcpy(kept, scratch->lists[now].states, scratch->lists[now].count * sizeof kept[0]);
    return scratch->lists[now].count;
}

static void match_feed_standalone(struct nest__match *match, struct nest__scratch *scratch,
                                  const uint8_t *p, uint32_t to) {
    struct nest__run *run = &match->run;
    unsigned live = 0;
    for (unsigned i = 0; i < match->live; i++) {
        uint16_t number = match->rules[i].rule;
        const struct nest__rule *rule = &nest__rules[number];
        uint16_t state = match->rules[i].state;
        uint32_t accepted = 0;
        state = rule->dfa != NULL
                    ? match_dfa(rule->dfa, state, p, match->fed, to, &accepted)
                    : match_threads(rule->nfa, scratch, match->threads + rule->threads, state, p,
                                    match->fed, to, &accepted);
        if (accepted > run->best_n ||
            (accepted == run->best_n && accepted > 0 && number < run->best)) {
            run->best_n = accepted;
            run->best = number;
        }
        if (state != 0) {
            match->rules[live].rule = number;
            match->rules[live].state = state;
            live++;
        }
    }
    match->live = (uint16_t)live;
}

/* Inline, and straight where bytes have come: a short line feels a call or a jump more. */
static inline enum nest__verdict match_feed(struct nest__match *match,
                                            struct nest__scratch *scratch, uint64_t states,
                                            unsigned last, const uint8_t *p, uint32_t n, bool eof) {
    struct nest__run *run = &match->run;
    uint32_t most = nest__config.input_buffer;
    uint32_t from = match->fed, to = n < most ? n : most;
    struct nest__step step = {0, 0};
    if (__builtin_expect(from < to, 1)) {
        step = nest__spec_run(run, states, last, p, p + from, p + to);
        if (NEST__STANDALONE > 0) { /* behind it: of equals the first written wins */
            run->best_n = (uint32_t)step.best_n;
            if (from == 0) {
                match_begin_standalone(match, *p);
            }
            match_feed_standalone(match, scratch, p, to);
            step.best_n = run->best_n;
        }
        match->fed = to;
    } else if (to == 0) {
        return eof ? NEST__NO_MATCH : NEST__UNDECIDED;
    } else {
        step = (struct nest__step){run->state, run->best_n};
    }
    run->best_n = (uint32_t)step.best_n;
    enum nest__verdict decision = step.best_n > 0 ? NEST__DECIDED : NEST__NO_MATCH;
    bool live = step.state != 0 || (NEST__STANDALONE > 0 && match->live > 0);
    if (!live || (NEST__MESSAGES && step.best_n > 0)) {
        return decision;
    }
    run->state = (uint16_t)step.state; /* only who goes on needs it */
    if (to >= most) {
        return NEST__OVERFLOWED;
    }
    return eof ? decision : NEST__UNDECIDED;
}

enum nest__verdict nest__match_feed(struct nest__match *match, struct nest__scratch *scratch,
                                    uint64_t states, unsigned last, const uint8_t *p, uint32_t n,
                                    bool eof) {
    return match_feed(match, scratch, states, last, p, n, eof);
}
