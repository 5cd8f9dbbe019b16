/* option.c: the value of option fileCache.
 *
 * Called by config/ and by store.c. No state. Must not know what the values mean. */
#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { OPTION_REASON = 256 };
#define OPTION_LEAST (UINT64_C(64) << 10)
#define OPTION_MOST (UINT64_C(1) << 40)

static const char *option_word(const char *text, size_t *n) {
    text += strspn(text, " \t");
    *n = strcspn(text, " \t");
    return text;
}

/* "64M". Returns 0 if it is no size, or too large. */
static uint64_t option_size(const char *word, size_t n) {
    static const char units[] = "KMGT";
    uint64_t size = 0;
    int shift = 0;
    size_t i = 0;
    for (; i < n && word[i] >= '0' && word[i] <= '9' && size <= OPTION_MOST; i++) {
        size = size * 10 + (uint64_t)(word[i] - '0');
    }
    if (i > 0 && i < n) {
        const char *unit = memchr(units, word[i] & ~0x20, sizeof units - 1);
        shift = unit == NULL ? 0 : 10 * (int)(unit - units + 1);
        i += unit != NULL;
    }
    return i < n || size > OPTION_MOST >> shift ? 0 : size << shift;
}

bool nest__contents_parse(const char *text, struct nest__layout *to) {
    size_t n;
    unsigned policy = 0;
    const char *word = option_word(text, &n);
    *to = (struct nest__layout){.size = 0};
    if (n == 4 && memcmp(word, "none", n) == 0) {
        return *option_word(word + n, &n) == '\0';
    }
    while (policy < NEST__POLICIES && (strlen(nest__policy_names[policy]) != n ||
                                       memcmp(nest__policy_names[policy], word, n) != 0)) {
        policy++;
    }
    to->policy = (enum nest__policy_kind)policy;
    word = option_word(word + n, &n);
    to->size = option_size(word, n);
    word = option_word(word + n, &n);
    to->threshold = to->size;
    if (to->policy == NEST__LRU_THRESHOLD) {
        to->threshold = option_size(word, n);
        word = option_word(word + n, &n);
    }
    return policy < NEST__POLICIES && (policy != NEST__CUSTOM || nest__contents_value != NULL) &&
           n == 0 && to->size >= OPTION_LEAST && to->size <= OPTION_MOST && to->threshold > 0 &&
           to->threshold <= to->size;
}

int nest__contents_valid(const char *text, char *reason) {
    struct nest__layout layout;
    if (nest__contents_parse(text, &layout)) {
        return 0;
    }
    if (layout.policy == NEST__CUSTOM && nest__contents_value == NULL) {
        snprintf(reason, OPTION_REASON,
                 "'%.60s' needs the code of a policy, but the specification has no %%cache", text);
        return -EINVAL;
    }
    snprintf(
        reason, OPTION_REASON,
        "'%.40s' is neither a policy and a size from 64K to 1T, such as LRU 64M, nor none; "
        "policies: LRU LFU LRU-MIN LRU-Threshold (and the largest file) Hyper-G SIEVE S3-FIFO; "
        "custom with %%cache",
        text);
    return -EINVAL;
}
