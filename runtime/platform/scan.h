/* scan.h: scans runs, texts and sets, many bytes at a time.
 *
 * Included by the generated matchers. Each function gives the result of a loop over single bytes,
 * and none reads at or beyond `end`. Vectors are SSE2, which every x86-64 processor has, SSSE3 if
 * the processor has it, or NEON; elsewhere the loop is used. Must not know automata. */
#ifndef NEST_SCAN_H
#define NEST_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <tmmintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

/* -- texts: compare with 2, 4 or 8 given bytes; bits in `fold` are set before the comparison */

static inline bool nest__same2(const uint8_t *p, const char text[3]) {
    uint16_t a, b;
    memcpy(&a, p, sizeof a);
    memcpy(&b, text, sizeof b);
    return a == b;
}

static inline bool nest__same4(const uint8_t *p, const char text[5]) {
    uint32_t a, b;
    memcpy(&a, p, sizeof a);
    memcpy(&b, text, sizeof b);
    return a == b;
}

static inline bool nest__same8(const uint8_t *p, const char text[9]) {
    uint64_t a, b;
    memcpy(&a, p, sizeof a);
    memcpy(&b, text, sizeof b);
    return a == b;
}

static inline bool nest__like2(const uint8_t *p, const char text[3], const char fold[3]) {
    uint16_t a, b, bits;
    memcpy(&a, p, sizeof a);
    memcpy(&b, text, sizeof b);
    memcpy(&bits, fold, sizeof bits);
    return (a | bits) == b;
}

static inline bool nest__like4(const uint8_t *p, const char text[5], const char fold[5]) {
    uint32_t a, b, bits;
    memcpy(&a, p, sizeof a);
    memcpy(&b, text, sizeof b);
    memcpy(&bits, fold, sizeof bits);
    return (a | bits) == b;
}

static inline bool nest__like8(const uint8_t *p, const char text[9], const char fold[9]) {
    uint64_t a, b, bits;
    memcpy(&a, p, sizeof a);
    memcpy(&b, text, sizeof b);
    memcpy(&bits, fold, sizeof bits);
    return (a | bits) == b;
}

/* Four bytes as a little-endian number. */
static inline uint32_t nest__word4(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* -- sets */

enum nest__high { NEST__HIGH_OUT, NEST__HIGH_IN, NEST__HIGH_MIXED };
struct nest__set {
    uint64_t bits[4];
    uint8_t rows[16];     /* for bytes below 128: bit `byte >> 4` of rows[byte & 15] */
    enum nest__high high; /* whether none, all or some of the other bytes are in the set */
};

static inline bool nest__has(const struct nest__set *set, uint8_t byte) {
    return (set->bits[byte >> 6] >> (byte & 63) & 1) != 0;
}

/* -- runs: find the first byte that ends a run, or `end` */

/* A vector of bytes, and a vector of results with all bits set or clear for each byte. */
typedef uint8_t nest__bytes16 __attribute__((vector_size(16)));
typedef int8_t nest__which16 __attribute__((vector_size(16)));
enum { NEST__WIDE = 16 };

static inline nest__bytes16 nest__load16(const uint8_t *p) {
    nest__bytes16 bytes;
    memcpy(&bytes, p, sizeof bytes);
    return bytes;
}

/* Returns 0 if no result is true, otherwise a mask for nest__first16, which gives the index of the
 * first. */
static inline uint64_t nest__mask16(nest__which16 which) {
#if defined(__SSE2__)
    return (unsigned)_mm_movemask_epi8((__m128i)which);
#elif defined(__ARM_NEON) && defined(__aarch64__)
    uint8x8_t half = vshrn_n_u16((uint16x8_t)which, 4); /* four bits of each */
    return vget_lane_u64(vreinterpret_u64_u8(half), 0);
#else
    uint64_t mask = 0;
    for (unsigned i = 0; i < NEST__WIDE; i++) {
        mask |= (uint64_t)(which[i] != 0) << i;
    }
    return mask;
#endif
}

static inline unsigned nest__first16(uint64_t mask) {
#if defined(__ARM_NEON) && defined(__aarch64__)
    return (unsigned)__builtin_ctzll(mask) / 4;
#else
    return (unsigned)__builtin_ctzll(mask);
#endif
}

/* v - by modulo 256, for a byte or for each byte of a vector */
#define NEST__LESS(v, by) ((__typeof__(v))((v) - (by)))

/* Advances p to the first byte `v` for which STOP is true, or to the end. STOP compares v with
 * constants and must be valid both for a byte and for a vector. */
#define NEST__UNTIL(p, end, STOP)                                                                  \
    do {                                                                                           \
        bool nest__found = false;                                                                  \
        if ((end) - (p) >= NEST__WIDE) {                                                           \
            const uint8_t *const nest__last = (end)-NEST__WIDE;                                    \
            do {                                                                                   \
                const nest__bytes16 v = nest__load16(p);                                           \
                const uint64_t nest__mask = nest__mask16((nest__which16)(STOP));                   \
                if (nest__mask != 0) {                                                             \
                    (p) += nest__first16(nest__mask);                                              \
                    nest__found = true;                                                            \
                    break;                                                                         \
                }                                                                                  \
                (p) += NEST__WIDE;                                                                 \
            } while ((p) <= nest__last);                                                           \
        }                                                                                          \
        while (!nest__found && (p) != (end)) {                                                     \
            const uint8_t v = *(p);                                                                \
            if (STOP) {                                                                            \
                break;                                                                             \
            }                                                                                      \
            (p)++;                                                                                 \
        }                                                                                          \
    } while (false)

#if defined(__SSE2__)
/* Method: W. Muła, http://0x80.pl/articles/simd-byte-lookup.html. The low half of a byte selects a
 * row, and the high half a bit of it. Needs at least 16 bytes. */
__attribute__((target("ssse3"), noinline, unused)) static const uint8_t *
scan_among_ssse3(const uint8_t *p, const uint8_t *end, const struct nest__set *set) {
    const __m128i rows = _mm_loadu_si128((const __m128i *)(const void *)set->rows);
    const __m128i bits = _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m128i half = _mm_set1_epi8(15);
    const unsigned high = set->high == NEST__HIGH_IN ? 0xffffu : 0;
    const uint8_t *const last = end - NEST__WIDE;
    do {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i row = _mm_shuffle_epi8(rows, bytes); /* 0 for bytes >= 128 */
        __m128i bit = _mm_shuffle_epi8(bits, _mm_and_si128(_mm_srli_epi16(bytes, 4), half));
        __m128i out = _mm_cmpeq_epi8(_mm_and_si128(row, bit), _mm_setzero_si128());
        unsigned at = (unsigned)_mm_movemask_epi8(out);
        at &= ~((unsigned)_mm_movemask_epi8(bytes) & high);
        if (at != 0) {
            return p + __builtin_ctz(at);
        }
        p += NEST__WIDE;
    } while (p <= last);
    while (p != end && nest__has(set, *p)) {
        p++;
    }
    return p;
}
#endif

/* Returns the first byte that is not in the set. */
static inline const uint8_t *nest__among(const uint8_t *p, const uint8_t *end,
                                         const struct nest__set *set) {
#if defined(__SSE2__)
    if (set->high != NEST__HIGH_MIXED && end - p >= NEST__WIDE && __builtin_cpu_supports("ssse3")) {
        return scan_among_ssse3(p, end, set);
    }
#elif defined(__ARM_NEON) && defined(__aarch64__)
    static const uint8_t powers[16] = {1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t rows = vld1q_u8(set->rows), bits = vld1q_u8(powers);
    while (set->high == NEST__HIGH_OUT && end - p >= NEST__WIDE) {
        uint8x16_t bytes = vld1q_u8(p);
        uint8x16_t row = vqtbl1q_u8(rows, vandq_u8(bytes, vdupq_n_u8(15)));
        uint8x16_t bit = vqtbl1q_u8(bits, vshrq_n_u8(bytes, 4));
        uint64_t out = nest__mask16((nest__which16)vmvnq_u8(vtstq_u8(row, bit)));
        if (out != 0) {
            return p + nest__first16(out);
        }
        p += NEST__WIDE;
    }
#endif
    while (p != end && nest__has(set, *p)) {
        p++;
    }
    return p;
}

#endif
