/* pcre2.c: libpcre2's JIT, one match for each message or line of one. It cannot resume: a partial
 * match begins anew when more has come.
 *
 * patterns.h has the patterns with their flags, and `take`: what is reported of a match, and which
 * pattern is next. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "bench.h"
#include "patterns.h"

enum { PATTERNS = sizeof patterns / sizeof patterns[0] };

static pcre2_code *codes[PATTERNS];
static pcre2_match_data *matches[PATTERNS];
static const uint8_t *driver_at;

bool bench_setup(void) {
    for (unsigned i = 0; i < PATTERNS; i++) {
        int error;
        PCRE2_SIZE offset;
        codes[i] = pcre2_compile((PCRE2_SPTR)patterns[i], PCRE2_ZERO_TERMINATED, FLAGS, &error,
                                 &offset, NULL);
        if (codes[i] == NULL || pcre2_jit_compile(codes[i], PCRE2_JIT_COMPLETE) != 0) {
            return false;
        }
        matches[i] = pcre2_match_data_create_from_pattern(codes[i], NULL);
    }
    return true;
}

size_t bench_code(void) {
    size_t all = 0;
    for (unsigned i = 0; i < PATTERNS; i++) {
        size_t jit = 0, byte_code = 0;
        pcre2_pattern_info(codes[i], PCRE2_INFO_JITSIZE, &jit);
        pcre2_pattern_info(codes[i], PCRE2_INFO_SIZE, &byte_code);
        all += jit + byte_code;
    }
    return all;
}

void bench_begin(const uint8_t *input) {
    driver_at = input;
}

bool bench_feed(uint8_t *piece, size_t n) {
    unsigned now = 0;
    size_t at = 0;
    while (at < n) {
        if (pcre2_jit_match(codes[now], piece, n, at, 0, matches[now], NULL) <= 0) {
            return false;
        }
        const PCRE2_SIZE *found = pcre2_get_ovector_pointer(matches[now]);
        now = take(now, matches[now], found, at);
        at = found[1];
    }
    driver_at = piece + at;
    return true;
}

bool bench_end(const uint8_t *end) {
    return driver_at == end;
}
