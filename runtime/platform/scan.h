/* scan.h: many bytes at once: runs, texts, sets.
 *
 * Included by the generated matchers. Each function is what a loop over bytes would do; none reads
 * beyond `end`. Vectors: SSE2, which every x86-64 has, SSSE3 where the processor has it, NEON;
 * elsewhere the loop. Must not know automata. */
#ifndef NEST_SCAN_H
#define NEST_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

/* -- texts: 4 or 8 bytes that are these; `fold`: bits that count as set */

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

/* -- sets */

static inline bool nest__in(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint8_t byte) {
    uint64_t low = (byte & 64) != 0 ? b : a;
    uint64_t high = (byte & 64) != 0 ? d : c;
    return (((byte & 128) != 0 ? high : low) >> (byte & 63) & 1) != 0;
}

enum nest__high { NEST__HIGH_OUT, NEST__HIGH_IN, NEST__HIGH_MIXED };
struct nest__set {
    uint64_t bits[4];
    uint8_t rows[16];     /* of bytes below 128: bit `byte >> 4` of rows[byte & 15] */
    enum nest__high high; /* the others: none, all, some of them are in it */
};

static inline bool nest__has(const struct nest__set *set, uint8_t byte) {
    return (set->bits[byte >> 6] >> (byte & 63) & 1) != 0;
}

/* -- runs: the first byte that ends one, or `end` */

#if defined(__SSE2__)

/* The first of four stops. */
static inline const uint8_t *nest__until(const uint8_t *p, const uint8_t *end, uint8_t a, uint8_t b,
                                         uint8_t c, uint8_t d) {
    const __m128i va = _mm_set1_epi8((char)a), vb = _mm_set1_epi8((char)b);
    const __m128i vc = _mm_set1_epi8((char)c), vd = _mm_set1_epi8((char)d);
    while (end - p >= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i stop = _mm_cmpeq_epi8(bytes, va);
        if (b != a) {
            stop = _mm_or_si128(stop, _mm_cmpeq_epi8(bytes, vb));
        }
        if (c != b) {
            stop = _mm_or_si128(stop, _mm_cmpeq_epi8(bytes, vc));
        }
        if (d != c) {
            stop = _mm_or_si128(stop, _mm_cmpeq_epi8(bytes, vd));
        }
        unsigned at = (unsigned)_mm_movemask_epi8(stop);
        if (at != 0) {
            return p + __builtin_ctz(at);
        }
        p += 16;
    }
    while (p != end && *p != a && *p != b && *p != c && *p != d) {
        p++;
    }
    return p;
}

/* The first that is in neither range. */
static inline const uint8_t *nest__within(const uint8_t *p, const uint8_t *end, uint8_t from,
                                          uint8_t to, uint8_t from2, uint8_t to2) {
    const __m128i zero = _mm_setzero_si128();
    while (end - p >= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i in = _mm_cmpeq_epi8(_mm_subs_epu8(_mm_sub_epi8(bytes, _mm_set1_epi8((char)from)),
                                                  _mm_set1_epi8((char)(uint8_t)(to - from))),
                                    zero);
        if (from2 != from) {
            in = _mm_or_si128(
                in, _mm_cmpeq_epi8(_mm_subs_epu8(_mm_sub_epi8(bytes, _mm_set1_epi8((char)from2)),
                                                 _mm_set1_epi8((char)(uint8_t)(to2 - from2))),
                                   zero));
        }
        unsigned at = (unsigned)_mm_movemask_epi8(in) ^ 0xffffu;
        if (at != 0) {
            return p + __builtin_ctz(at);
        }
        p += 16;
    }
    while (p != end && ((uint8_t)(*p - from) <= (uint8_t)(to - from) ||
                        (uint8_t)(*p - from2) <= (uint8_t)(to2 - from2))) {
        p++;
    }
    return p;
}

/* W. Muła, http://0x80.pl/articles/simd-byte-lookup.html: a row by the low half of a byte, a bit of
 * it by the high half. */
__attribute__((target("ssse3"), unused)) static const uint8_t *
scan_among_ssse3(const uint8_t *p, const uint8_t *end, const struct nest__set *set) {
    const __m128i rows = _mm_loadu_si128((const __m128i *)(const void *)set->rows);
    const __m128i bits = _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m128i half = _mm_set1_epi8(15);
    const unsigned high = set->high == NEST__HIGH_IN ? 0xffffu : 0;
    while (end - p >= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i row = _mm_shuffle_epi8(rows, bytes); /* 0 for bytes from 128 on */
        __m128i bit = _mm_shuffle_epi8(bits, _mm_and_si128(_mm_srli_epi16(bytes, 4), half));
        __m128i out = _mm_cmpeq_epi8(_mm_and_si128(row, bit), _mm_setzero_si128());
        unsigned at = (unsigned)_mm_movemask_epi8(out);
        at &= ~((unsigned)_mm_movemask_epi8(bytes) & high);
        if (at != 0) {
            return p + __builtin_ctz(at);
        }
        p += 16;
    }
    while (p != end && nest__has(set, *p)) {
        p++;
    }
    return p;
}

/* The first that is not in the set. */
static inline const uint8_t *nest__among(const uint8_t *p, const uint8_t *end,
                                         const struct nest__set *set) {
    if (set->high != NEST__HIGH_MIXED && end - p >= 16 && __builtin_cpu_supports("ssse3")) {
        return scan_among_ssse3(p, end, set);
    }
    while (p != end && nest__has(set, *p)) {
        p++;
    }
    return p;
}

#else

static inline const uint8_t *nest__until(const uint8_t *p, const uint8_t *end, uint8_t a, uint8_t b,
                                         uint8_t c, uint8_t d) {
#if defined(__ARM_NEON) && defined(__aarch64__)
    while (end - p >= 16) {
        uint8x16_t bytes = vld1q_u8(p);
        uint8x16_t stop =
            vorrq_u8(vorrq_u8(vceqq_u8(bytes, vdupq_n_u8(a)), vceqq_u8(bytes, vdupq_n_u8(b))),
                     vorrq_u8(vceqq_u8(bytes, vdupq_n_u8(c)), vceqq_u8(bytes, vdupq_n_u8(d))));
        if (vmaxvq_u8(stop) != 0) {
            break;
        }
        p += 16;
    }
#endif
    while (p != end && *p != a && *p != b && *p != c && *p != d) {
        p++;
    }
    return p;
}

static inline const uint8_t *nest__within(const uint8_t *p, const uint8_t *end, uint8_t from,
                                          uint8_t to, uint8_t from2, uint8_t to2) {
#if defined(__ARM_NEON) && defined(__aarch64__)
    while (end - p >= 16) {
        uint8x16_t bytes = vld1q_u8(p);
        uint8x16_t in = vorrq_u8(
            vcleq_u8(vsubq_u8(bytes, vdupq_n_u8(from)), vdupq_n_u8((uint8_t)(to - from))),
            vcleq_u8(vsubq_u8(bytes, vdupq_n_u8(from2)), vdupq_n_u8((uint8_t)(to2 - from2))));
        if (vminvq_u8(in) == 0) {
            break;
        }
        p += 16;
    }
#endif
    while (p != end && ((uint8_t)(*p - from) <= (uint8_t)(to - from) ||
                        (uint8_t)(*p - from2) <= (uint8_t)(to2 - from2))) {
        p++;
    }
    return p;
}

static inline const uint8_t *nest__among(const uint8_t *p, const uint8_t *end,
                                         const struct nest__set *set) {
#if defined(__ARM_NEON) && defined(__aarch64__)
    static const uint8_t powers[16] = {1, 2, 4, 8, 16, 32, 64, 128};
    if (set->high == NEST__HIGH_OUT) {
        const uint8x16_t rows = vld1q_u8(set->rows), bits = vld1q_u8(powers);
        while (end - p >= 16) {
            uint8x16_t bytes = vld1q_u8(p);
            uint8x16_t row = vqtbl1q_u8(rows, vandq_u8(bytes, vdupq_n_u8(15)));
            uint8x16_t bit = vqtbl1q_u8(bits, vshrq_n_u8(bytes, 4));
            if (vminvq_u8(vtstq_u8(row, bit)) == 0) {
                break;
            }
            p += 16;
        }
    }
#endif
    while (p != end && nest__has(set, *p)) {
        p++;
    }
    return p;
}

#endif
#endif
