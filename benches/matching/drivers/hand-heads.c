/* hand-heads.c: heads by hand: what one writes who has this grammar alone in mind, vectors included.
 *
 * It takes an input that is whole and never resumes, nothing is asked of it but the parts. What
 * can be gained over a matcher that is made is between it and this. */
#include "bench.h"

#include <string.h>

#include <immintrin.h>

static struct { const uint8_t *input, *from; } driver;

bool bench_setup(void) {
    return __builtin_cpu_supports("ssse3");
}

size_t bench_code(void) {
    return 0;
}

void bench_begin(const uint8_t *input) {
    driver.input = driver.from = input;
}

/* Tokens of RFC 9110: of each low half of a byte the high halves that are of the set. */
static const char hand_rows[16] = {
    (char)0xe8, (char)0xfc, (char)0xf8, (char)0xfc, (char)0xfc, (char)0xfc, (char)0xfc, (char)0xfc,
    (char)0xf8, (char)0xf8, (char)0xf4, 0x54,       (char)0xd0, 0x54,       (char)0xf4, 0x70};

static bool hand_is_token(uint8_t byte) {
    return byte < 128 && ((uint8_t)hand_rows[byte & 15] >> (byte >> 4) & 1) != 0;
}

static bool hand_is_value(uint8_t byte) {
    return (byte >= 32 && byte != 127) || byte == '\t';
}

/* The first byte that is of no token. */
__attribute__((target("ssse3"))) static inline const uint8_t *hand_token(const uint8_t *p,
                                                                         const uint8_t *end) {
    const __m128i rows = _mm_loadu_si128((const __m128i *)(const void *)hand_rows);
    const __m128i bits = _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
    for (; end - p >= 16; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 4), _mm_set1_epi8(15));
        __m128i in = _mm_and_si128(_mm_shuffle_epi8(rows, bytes), _mm_shuffle_epi8(bits, high));
        int out = _mm_movemask_epi8(_mm_cmpeq_epi8(in, _mm_setzero_si128()));
        if (out != 0) {
            return p + __builtin_ctz((unsigned)out);
        }
    }
    while (p < end && hand_is_token(*p)) {
        p++;
    }
    return p;
}

/* The first byte that is of no value. */
static inline const uint8_t *hand_value(const uint8_t *p, const uint8_t *end) {
    for (; end - p >= 16; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(31)), bytes);
        control = _mm_andnot_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t')), control);
        control = _mm_or_si128(control, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(127)));
        int out = _mm_movemask_epi8(control);
        if (out != 0) {
            return p + __builtin_ctz((unsigned)out);
        }
    }
    while (p < end && hand_is_value(*p)) {
        p++;
    }
    return p;
}

/* The first byte that is not of a target. */
static inline const uint8_t *hand_target(const uint8_t *p, const uint8_t *end) {
    for (; end - p >= 16; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i moved = _mm_sub_epi8(bytes, _mm_set1_epi8('!'));
        __m128i in =
            _mm_cmpeq_epi8(_mm_subs_epu8(moved, _mm_set1_epi8('~' - '!')), _mm_setzero_si128());
        int out = _mm_movemask_epi8(in) ^ 0xffff;
        if (out != 0) {
            return p + __builtin_ctz((unsigned)out);
        }
    }
    while (p < end && *p >= '!' && *p <= '~') {
        p++;
    }
    return p;
}

static size_t hand_at(const uint8_t *p) {
    return (size_t)(p - driver.input);
}

/* One head from p on; NULL if it is none. A 0 lies at the end, so single bytes need no look. */
__attribute__((target("ssse3"))) static const uint8_t *hand_head(const uint8_t *p,
                                                                 const uint8_t *end) {
    const uint8_t *line = p;
    while (*p >= 'A' && *p <= 'Z') {
        p++;
    }
    if (p == line || *p != ' ') {
        return NULL;
    }
    bench_part(0, hand_at(line), hand_at(p));
    const uint8_t *target = ++p;
    p = hand_target(p, end);
    if (p == target || end - p < 11 || memcmp(p, " HTTP/", 6) != 0 || p[6] < '0' || p[6] > '9' ||
        p[7] != '.' || p[8] < '0' || p[8] > '9' || p[9] != '\r' || p[10] != '\n') {
        return NULL;
    }
    bench_part(1, hand_at(target), hand_at(p));
    bench_part(2, hand_at(p + 6), hand_at(p + 9));
    p += 11;
    while (*p != '\r') {
        line = p;
        p = hand_token(p, end);
        if (p == line || *p != ':') {
            return NULL;
        }
        bench_part(3, hand_at(line), hand_at(p));
        do {
            p++;
        } while (*p == ' ' || *p == '\t');
        const uint8_t *value = p;
        p = hand_value(p, end);
        if (*p != '\r' || p[1] != '\n') {
            return NULL;
        }
        bench_part(4, hand_at(value), hand_at(p));
        p += 2;
    }
    return p[1] == '\n' ? p + 2 : NULL;
}

bool bench_feed(uint8_t *piece, size_t n) {
    const uint8_t *end = piece + n;
    while (driver.from != NULL && driver.from < end) {
        driver.from = hand_head(driver.from, end);
    }
    return driver.from != NULL;
}

bool bench_end(const uint8_t *end) {
    return driver.from == end;
}
