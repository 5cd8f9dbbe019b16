/* backtracking.c: matches rules by libpcre2, within limits and without allocation.
 *
 * Called at join points, by matcher.c and by worker models. State: the compiled patterns, which all
 * workers share and nobody changes; a stack for each worker. Must not know sessions.
 *
 * PCRE2_PARTIAL_HARD reports a partial match as soon as the end of the bytes is reached. So the
 * work before is the same as that of a match with more bytes: neither the result nor whether a
 * limit is exceeded depends on how the bytes arrive. Therefore libpcre2 must not look at the bytes
 * before it matches them (PCRE2_NO_START_OPTIMIZE). Its JIT compiler is not used: it counts steps
 * in another way, and it needs memory that is both writable and executable, which hardened systems
 * refuse. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "backtracking.h"
#include "../../platform/platform.h"

#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* Steps for each level of the stack. A message of n bytes needs about 2n levels for a repeated
 * group. Fewer levels than steps keep the stack small. */
enum { BACKTRACKING_STEPS = 2 };

/* scope: server, set before workers are made */
static struct {
    pcre2_code *codes[NEST__RULES]; /* NULL: automata match the rule */
    uint32_t ends;                  /* the most pairs of offsets of a match */
    uint32_t levels;                /* the stack's most levels */
    size_t stack;                   /* their size, in bytes */
} backtracking;

/* libpcre2 moves its stack to memory of twice the size when it is full. Each half may be one of the
 * two. Memory that is never used is only reserved. */
struct nest__backtracker {
    pcre2_general_context *memory;
    pcre2_match_context *limits;
    pcre2_match_data *data;
    bool fixed; /* no further memory is allocated */
    bool used[2];
    char *half[2];
};

static void *backtracking_take(size_t n, void *of) {
    struct nest__backtracker *worker = of;
    if (!worker->fixed) {
        return malloc(n);
    }
    for (unsigned i = 0; i < 2 && n <= backtracking.stack; i++) {
        if (!worker->used[i]) {
            worker->used[i] = true;
            return worker->half[i];
        }
    }
    return NULL;
}

static void backtracking_give(void *p, void *of) {
    struct nest__backtracker *worker = of;
    for (unsigned i = 0; i < 2; i++) {
        if (p != NULL && p == worker->half[i]) {
            worker->used[i] = false;
            return;
        }
    }
    free(p);
}

void nest__backtracking_end(struct nest__backtracker **at) {
    struct nest__backtracker *worker = *at;
    *at = NULL;
    if (worker == NULL) {
        return;
    }
    pcre2_match_data_free(worker->data);
    pcre2_match_context_free(worker->limits);
    pcre2_general_context_free(worker->memory);
    free(worker->half[0]);
    free(worker->half[1]);
    free(worker);
}

int nest__backtracking_begin(struct nest__backtracker **to) {
    struct nest__backtracker *worker;
    if (*to != NULL) {
        return 0;
    }
    *to = worker = calloc(1, sizeof *worker);
    if (worker == NULL) {
        return -ENOMEM;
    }
    worker->half[0] = malloc(backtracking.stack);
    worker->half[1] = malloc(backtracking.stack);
    worker->memory = pcre2_general_context_create(backtracking_take, backtracking_give, worker);
    if (worker->memory != NULL) {
        worker->limits = pcre2_match_context_create(worker->memory);
        worker->data = pcre2_match_data_create(backtracking.ends, worker->memory);
    }
    if (worker->half[0] == NULL || worker->half[1] == NULL || worker->limits == NULL ||
        worker->data == NULL) {
        nest__backtracking_end(to);
        return -ENOMEM;
    }
    pcre2_set_match_limit(worker->limits, nest__config.backtracking_limit);
    pcre2_set_depth_limit(worker->limits, backtracking.levels);
    pcre2_set_heap_limit(worker->limits, (uint32_t)(backtracking.stack / 1024));
    worker->fixed = true;
    return 0;
}

/* Compiles the pattern of a rule. `frame`: the largest level of the stack so far. */
static int backtracking_compile(unsigned number, size_t *frame) {
    const struct nest__rule *rule = &nest__rules[number];
    int error;
    uint32_t captures = 0;
    size_t at, size = 0;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)rule->backtracking->text, PCRE2_ZERO_TERMINATED,
                      PCRE2_ANCHORED | PCRE2_NO_START_OPTIMIZE | PCRE2_NEVER_UTF | PCRE2_NEVER_UCP,
                      &error, &at, NULL);
    if (code == NULL) {
        char why[128];
        pcre2_get_error_message(error, (PCRE2_UCHAR *)why, sizeof why);
        nest__say("cannot start: %s:%u: libpcre2 refuses the pattern: %s", rule->file,
                  (unsigned)rule->line, why);
        return -EINVAL;
    }
    pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &captures);
    pcre2_pattern_info(code, PCRE2_INFO_FRAMESIZE, &size);
    if (captures + 1 > backtracking.ends) {
        backtracking.ends = captures + 1;
    }
    if (size > *frame) {
        *frame = size;
    }
    backtracking.codes[number] = code;
    return 0;
}

int nest__backtracking_check(void) {
    size_t frame = 1;
    for (unsigned i = 0; i < NEST__RULES; i++) {
        if (nest__rules[i].backtracking != NULL && backtracking.codes[i] == NULL) {
            int error = backtracking_compile(i, &frame);
            if (error != 0) {
                return error;
            }
        }
    }
    if (backtracking.stack == 0) {
        /* libpcre2 begins with 20 KB, and keeps a level free. */
        backtracking.levels = nest__config.backtracking_limit / BACKTRACKING_STEPS;
        backtracking.stack = ((backtracking.levels + 16) * frame + 32 * 1024) / 1024 * 1024;
    }
    return 0;
}

struct nest__need nest__backtracking_need(void) {
    (void)
        nest__backtracking_check(); /* the sizes; what is wrong is reported once, when it starts */
    uint64_t most = 2 * (uint64_t)backtracking.stack, clients = nest__config.max_clients;
    /* A loop has one stack for all of its clients. */
    most = nest__backtracking_shared ? (most + clients - 1) / clients : most;
    return (struct nest__need){"stack of libpcre2", "backtrackingLimit", most, 0};
}

enum nest__backtracked nest__backtracking_match(struct nest__backtracker **at, unsigned rule,
                                                const uint8_t *p, uint32_t n, bool whole,
                                                uint32_t *length) {
    if (nest__backtracking_begin(at) != 0) {
        nest__say("no memory for libpcre2: a connection ends");
        return NEST__BACKTRACKED_EXCEEDED;
    }
    pcre2_match_data *data = (*at)->data;
    uint32_t options = PCRE2_NOTEMPTY | (whole ? 0 : PCRE2_PARTIAL_HARD);
    int result = pcre2_match(backtracking.codes[rule], p, n, 0, options, data, (*at)->limits);
    switch (result) {
    case PCRE2_ERROR_NOMATCH:
        return NEST__BACKTRACKED_NO;
    case PCRE2_ERROR_PARTIAL:
        return NEST__BACKTRACKED_MORE;
    default:
        break;
    }
    if (result < 0) {
        const struct nest__rule *of = &nest__rules[rule];
        char why[128];
        pcre2_get_error_message(result, (PCRE2_UCHAR *)why, sizeof why);
        nest__say("%s:%u: a message of at least %u bytes takes more than backtrackingLimit, %u: %s",
                  of->file, (unsigned)of->line, (unsigned)n,
                  (unsigned)nest__config.backtracking_limit, why);
        return NEST__BACKTRACKED_EXCEEDED;
    }
    *length = (uint32_t)pcre2_get_ovector_pointer(data)[1];
    return NEST__BACKTRACKED_YES;
}

void nest__backtracking_ends(const struct nest__backtracker *worker, unsigned rule,
                             uint32_t tags[NEST__TAGS]) {
    const struct nest__backtracking *of = nest__rules[rule].backtracking;
    const size_t *ends = pcre2_get_ovector_pointer(worker->data);
    for (unsigned i = 0; i < of->count; i++) {
        tags[i] = (uint32_t)ends[2 * of->groups[i] + 1];
    }
}
