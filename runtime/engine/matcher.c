/* matcher.c: which rule takes how many bytes: the longest match, of several the first written.
 *
 * Called by session.c. State: one struct nest__match, owned by the caller; it resumes wherever the
 * bytes end, so that no byte is looked at twice. Must not know sessions, actions or io.
 *
 * Rules run side by side in one automaton, or each over the new bytes on its own. That is the same:
 * a rule's threads do not depend on the others, and nothing is decided before the bytes are used up
 * or no rule is live. Only early rules decide before, as soon as they accept: an automaton knows
 * its own; those on their own run first, and the others only over the bytes up to there. */
#include "engine.h"

#include <string.h>

enum { MATCH_WORDS = (NEST__RULES + 63) / 64 }; /* of nest__first, for each byte */

/* Most rules end at the first byte: they are not begun. */
static void match_begin_standalone(struct nest__match *match, uint8_t first) {
    const uint64_t *live = &nest__first[(size_t)first * MATCH_WORDS];
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

/* The same by a thread list; `kept` holds its `count` threads, and the new ones on return. An early
 * rule is not live where it accepts. */
static uint16_t match_threads(const struct nest__nfa *nfa, struct nest__scratch *scratch,
                              uint16_t *kept, uint16_t count, bool early, const uint8_t *bytes,
                              uint32_t from, uint32_t to, uint32_t *accepted) {
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
                if (early) {
                    scratch->lists[1 - now].count = 0;
                }
                break;
            }
        }
        now = 1 - now;
    }
    memcpy(kept, scratch->lists[now].states, scratch->lists[now].count * sizeof kept[0]);
    return scratch->lists[now].count;
}

/* The first `to` bytes, from the first on; `whole`: nothing follows them. Whether the rule is live;
 * *exceeded: a limit ends the connection. With `framing message` a match of what has come decides,
 * whatever might follow. */
static bool match_backtracking(struct nest__scratch *scratch, unsigned rule, const uint8_t *p,
                               uint32_t to, bool whole, uint32_t *accepted, bool *exceeded) {
    enum nest__backtracked result = nest__backtracking_match(&scratch->backtracker, rule, p, to,
                                                             whole || NEST__MESSAGES, accepted);
    if (NEST__MESSAGES && !whole && result == NEST__BACKTRACKED_NO) {
        result = nest__backtracking_match(&scratch->backtracker, rule, p, to, false, accepted);
    }
    *exceeded = result == NEST__BACKTRACKED_EXCEEDED;
    return result == NEST__BACKTRACKED_MORE;
}

/* Where an early rule has accepted; length 0: nowhere. */
struct match_end {
    uint16_t rule;
    uint32_t length;
};

static bool match_accept(struct nest__run *run, uint16_t number, uint32_t accepted) {
    if (accepted > run->best_n || (accepted == run->best_n && accepted > 0 && number < run->best)) {
        run->best_n = accepted;
        run->best = number;
        return true;
    }
    return false;
}

/* The bytes up to `to` through the early rules, or through the others. The first acceptance of an
 * early rule, of several the first written; nothing of the others, whose acceptances are recorded.
 * `whole`: nothing follows these bytes. *exceeded is set if a rule exceeds a limit. */
static struct match_end match_feed_standalone(struct nest__match *match,
                                              struct nest__scratch *scratch, const uint8_t *p,
                                              uint32_t to, bool early, bool whole, bool *exceeded) {
    struct match_end end = {0, 0};
    unsigned live = 0;
    for (unsigned i = 0; i < match->live; i++) {
        uint16_t number = match->rules[i].rule;
        const struct nest__rule *rule = &nest__rules[number];
        uint16_t state = match->rules[i].state;
        if (NEST__EARLY > 0 && rule->early != early) {
            match->rules[live++] = match->rules[i];
            continue;
        }
        uint32_t accepted = 0;
        if (NEST__BACKTRACKING > 0 && rule->backtracking != NULL) {
            bool over = false;
            state = match_backtracking(scratch, number, p, to, whole, &accepted, &over);
            *exceeded |= over;
            if (over) {
                return end;
            }
        } else if (rule->dfa != NULL) {
            state = match_dfa(rule->dfa, state, p, match->fed, to, &accepted);
        } else {
            state = match_threads(rule->nfa, scratch, match->threads + rule->threads, state,
                                  rule->early, p, match->fed, to, &accepted);
        }
        if (!early) {
            bool best = match_accept(&match->run, number, accepted);
            if (NEST__BACKTRACKING > 0 && best && rule->backtracking != NULL) {
                nest__backtracking_ends(scratch->backtracker, number, match->run.tags);
            }
        } else if (accepted > 0 && (end.length == 0 || accepted < end.length)) {
            end = (struct match_end){number, accepted};
        }
        if (state != 0) {
            match->rules[live].rule = number;
            match->rules[live].state = state;
            live++;
        }
    }
    match->live = (uint16_t)live;
    return end;
}

/* Inline, and straight where bytes have come: a short line feels a call or a jump more. */
static inline enum nest__verdict match_feed(struct nest__match *match,
                                            struct nest__scratch *scratch, uint64_t states,
                                            unsigned last, const uint8_t *p, uint32_t n, bool eof) {
    struct nest__run *run = &match->run;
    uint32_t most = nest__config.input_buffer;
    uint32_t from = match->fed, to = n < most ? n : most;
    struct nest__step step = {0, 0};
    bool exceeded = false;
    if (__builtin_expect(from < to, 1)) {
        struct match_end early = {0, 0};
        uint32_t end = to;
        if (NEST__EARLY > 0) {
            if (from == 0) {
                nest__spec_active(states, last, &run->active);
                match_begin_standalone(match, *p);
            }
            early = match_feed_standalone(match, scratch, p, to, true, false, &exceeded);
            end = early.length > 0 ? early.length : to;
        }
        step = nest__spec_run(run, states, last, p, p + from, p + end);
        if (NEST__STANDALONE > 0) { /* behind it: of equals the first written wins */
            run->best_n = (uint32_t)step.best_n;
            if (NEST__EARLY == 0 && from == 0) {
                match_begin_standalone(match, *p);
            }
            match_feed_standalone(match, scratch, p, end, false, eof && to < most, &exceeded);
            if (exceeded) {
                return NEST__EXCEEDED;
            }
            match_accept(run, early.rule, early.length);
            step.best_n = run->best_n;
        }
        if (early.length > 0) {
            step.state = 0;
            match->live = 0;
        }
        match->fed = to;
    } else if (to == 0) {
        return eof ? NEST__NO_MATCH : NEST__UNDECIDED;
    } else {
        if (NEST__BACKTRACKING > 0 && eof && to < most) {
            match_feed_standalone(match, scratch, p, to, false, true, &exceeded);
            if (exceeded) {
                return NEST__EXCEEDED;
            }
        }
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
