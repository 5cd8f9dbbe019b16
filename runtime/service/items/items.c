/* items.c: where the repetitions of an element end: the preferred path over exactly its bytes.
 *
 * Called by actions. A pass from the end of the text to its start finds the states from which the
 * rest of the text can be matched. A pass from the start then follows the first such choice of each
 * split, which is the preferred path. State: the ends that the running action has asked for. */
#include "items.h"
#include "../../engine/engine.h"

#include <string.h>

struct nest__items {
    struct nest__items *next;
    char *copies; /* all repetitions, each with a NUL behind it; NULL: none is copied */
    uint32_t count;
    uint16_t part;
    uint32_t ends[]; /* where each repetition ends, from the element's start */
};

static size_t items_row(const struct nest__nfa *nfa) { /* bytes: a bit for each state */
    return ((size_t)nfa->count + 7) / 8;
}

/* For each byte of an element's text and for its end: a row of bits, an end and a NUL; and for the
 * repetitions without bytes, which are fewer than states. What is left at the end of an arena's
 * block is less than the next allocation needs. */
struct nest__need nest__items_need(void) {
    uint64_t most = 0, input = nest__config.input_buffer;
    for (unsigned i = 0; i < nest__repeated_count; i++) {
        const struct nest__nfa *nfa = nest__repeated[i].nfa;
        if (nfa == NULL) {
            continue;
        }
        uint64_t ends = input + NEST__PARTS * (uint64_t)nfa->count;
        uint64_t rows = (input + NEST__PARTS) * items_row(nfa);
        uint64_t lists = NEST__PARTS * (sizeof(struct nest__items) + _Alignof(max_align_t));
        uint64_t all = rows + ends * (sizeof(uint32_t) + 1) + input + lists;
        most = all > most ? all : most;
    }
    return (struct nest__need){"repetitions of parts", "inputBuffer", 2 * most, 0};
}

void nest__items_leave(nest_session *s) {
    s->work->services.items.first = NULL;
}

static bool items_can(const uint8_t *row, uint32_t state) {
    return (row[state >> 3] >> (state & 7) & 1) != 0;
}

/* `row`: from which states the text from p on can be matched; `after`: the same for p + 1, NULL at
 * the end of the text. */
static void items_row_before(const struct nest__nfa *nfa, const char *p, const uint8_t *after,
                             uint8_t *row) {
    memset(row, 0, items_row(nfa));
    for (uint32_t id = nfa->count; id-- > 0;) {
        const struct nest__nfa_state *state = &nfa->states[id];
        bool can = false;
        switch ((enum nest__op)state->op) {
        case NEST__BYTE:
            if (after != NULL) {
                uint8_t byte = (uint8_t)*p;
                can = (nfa->sets[state->set][byte >> 6] >> (byte & 63) & 1) != 0 &&
                      items_can(after, state->next);
            }
            break;
        case NEST__SPLIT:
            for (unsigned t = 0; t < state->set && !can; t++) {
                can = items_can(row, nfa->targets[state->next + t]);
            }
            break;
        case NEST__MARK:
            can = items_can(row, state->next);
            break;
        case NEST__MATCH:
            can = after == NULL;
            break;
        }
        row[id >> 3] |= (uint8_t)(can << (id & 7));
    }
}

/* Follows the preferred path. Returns the number of repetitions; if `ends` is not NULL, stores
 * where they end. */
static uint32_t items_walk(const struct nest__nfa *nfa, const uint8_t *rows, uint32_t *ends) {
    size_t row = items_row(nfa);
    uint32_t at = 0, count = 0, id = nfa->start;
    if (!items_can(rows, id)) {
        return 0; /* tables that disagree */
    }
    for (;;) {
        const struct nest__nfa_state *state = &nfa->states[id];
        switch ((enum nest__op)state->op) {
        case NEST__BYTE:
            at++;
            id = state->next;
            break;
        case NEST__SPLIT: {
            unsigned t = 0;
            while (!items_can(rows + at * row, nfa->targets[state->next + t])) {
                t++;
            }
            id = nfa->targets[state->next + t];
            break;
        }
        case NEST__MARK:
            if (ends != NULL) {
                ends[count] = at;
            }
            count++;
            id = state->next;
            break;
        case NEST__MATCH:
            return count;
        }
    }
}

static const struct nest__nfa *items_nfa(int rule, unsigned n) {
    for (unsigned i = 0; i < nest__repeated_count; i++) {
        if (nest__repeated[i].rule == rule && nest__repeated[i].part == n) {
            return nest__repeated[i].nfa;
        }
    }
    return NULL;
}

static void *items_take(nest_session *s, size_t n) {
    size_t align = _Alignof(max_align_t);
    char *p = nest__arena_take(s, n + align - 1);
    return p == NULL ? NULL : p + (align - (uintptr_t)p % align) % align;
}

/* The repetitions of element n; NULL if there are none, or no memory. */
static struct nest__items *items_of(nest_session *s, unsigned n) {
    struct nest__action *action = nest__acting(s);
    if (action == NULL || action->rule < 0) {
        return NULL;
    }
    struct nest__items *items = s->work == NULL ? NULL : s->work->services.items.first;
    for (; items != NULL; items = items->next) {
        if (items->part == n) {
            return items;
        }
    }
    const struct nest__nfa *nfa = items_nfa(action->rule, n);
    if (nfa == NULL) {
        return NULL;
    }
    nest_bytes text = nest__part(action, &nest__worker()->scratch, n);
    const char *p = text.p;
    size_t row = items_row(nfa);
    uint8_t *rows = (uint8_t *)nest__arena_take(s, (text.n + 1) * row);
    if (rows == NULL) {
        action->lost = true;
        return NULL;
    }
    for (size_t at = text.n + 1; at-- > 0;) {
        const uint8_t *after = at == text.n ? NULL : rows + (at + 1) * row;
        items_row_before(nfa, p + at, after, rows + at * row);
    }
    uint32_t count = items_walk(nfa, rows, NULL);
    items = items_take(s, sizeof *items + count * sizeof items->ends[0]);
    if (items == NULL) {
        action->lost = true;
        return NULL;
    }
    struct nest__items_state *state = &s->work->services.items;
    *items = (struct nest__items){.next = state->first, .count = count, .part = (uint16_t)n};
    items_walk(nfa, rows, items->ends);
    state->first = items;
    return items;
}

static uint32_t items_start(const struct nest__items *items, size_t i) {
    return i == 0 ? 0 : items->ends[i - 1];
}

size_t nest_count(nest_session *s, unsigned n) {
    const struct nest__items *items = items_of(s, n);
    return items == NULL ? 0 : items->count;
}

size_t nest_item_length(nest_session *s, unsigned n, size_t i) {
    const struct nest__items *items = items_of(s, n);
    return items == NULL || i >= items->count ? 0 : items->ends[i] - items_start(items, i);
}

static char *items_copy(nest_session *s, const struct nest__items *items) {
    nest_bytes text = nest__part(nest__acting(s), &nest__worker()->scratch, items->part);
    const char *p = text.p;
    char *copies = nest__arena_take(s, text.n + items->count), *to = copies;
    for (uint32_t i = 0; copies != NULL && i < items->count; i++) {
        uint32_t from = items_start(items, i), n = items->ends[i] - from;
        memcpy(to, p + from, n);
        to[n] = '\0';
        to += n + 1;
    }
    return copies;
}

char *nest_item(nest_session *s, unsigned n, size_t i) {
    static _Thread_local char nothing[1];
    struct nest__items *items = items_of(s, n);
    nothing[0] = '\0';
    if (items == NULL || i >= items->count) {
        return nothing;
    }
    if (items->copies == NULL && (items->copies = items_copy(s, items)) == NULL) {
        nest__acting(s)->lost = true;
        return nothing;
    }
    return items->copies + items_start(items, i) + i;
}
