/* hand-ftp.c: FTP's commands by hand: verbs by a hash without collisions, line ends by vectors.
 *
 * It takes an input that is whole and never resumes. What can be gained over a matcher that is made
 * is between it and this. */
#include "bench.h"

#include <string.h>

#include <emmintrin.h>

static struct { const uint8_t *input, *from; } driver;

/* Each verb has an action of its own, as in a server. */
#define VERBS(X)                                                                                   \
    X(0, "user")                                                                                   \
    X(1, "pass")                                                                                   \
    X(2, "acct")                                                                                   \
    X(3, "cwd")                                                                                    \
    X(4, "cdup")                                                                                   \
    X(5, "port")                                                                                   \
    X(6, "pasv")                                                                                   \
    X(7, "epsv")                                                                                   \
    X(8, "eprt")                                                                                   \
    X(9, "type")                                                                                   \
    X(10, "stru")                                                                                  \
    X(11, "mode")                                                                                  \
    X(12, "retr")                                                                                  \
    X(13, "stor")                                                                                  \
    X(14, "appe")                                                                                  \
    X(15, "allo")                                                                                  \
    X(16, "rest")                                                                                  \
    X(17, "rnfr")                                                                                  \
    X(18, "rnto")                                                                                  \
    X(19, "abor")                                                                                  \
    X(20, "dele")                                                                                  \
    X(21, "rmd")                                                                                   \
    X(22, "mkd")                                                                                   \
    X(23, "pwd")                                                                                   \
    X(24, "list")                                                                                  \
    X(25, "nlst")                                                                                  \
    X(26, "site")                                                                                  \
    X(27, "syst")                                                                                  \
    X(28, "stat")                                                                                  \
    X(29, "feat")                                                                                  \
    X(30, "opts")                                                                                  \
    X(31, "size")                                                                                  \
    X(32, "mdtm")                                                                                  \
    X(33, "mlsd")                                                                                  \
    X(34, "mlst")                                                                                  \
    X(35, "quit")                                                                                  \
    X(36, "noop")                                                                                  \
    X(37, "help")                                                                                  \
    X(38, "auth")

#define ACTION(kind, verb)                                                                         \
    static void hand_##kind(size_t from, size_t to) {                                              \
        bench_part(kind, from, to);                                                                \
    }
VERBS(ACTION)

enum { HAND_BITS = 10, HAND_SHORTEST = 5 /* PWD and its line end */ };
static struct hand_verb {
    uint32_t word; /* four bytes in lower case */
    uint32_t length;
    void (*act)(size_t from, size_t to); /* NULL: none is here */
} hand_verbs[1 << HAND_BITS];
static uint32_t hand_by = 1;

static uint32_t hand_word(const char *p) {
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word | 0x20202020;
}

static struct hand_verb *hand_place(uint32_t word) {
    return &hand_verbs[word * hand_by >> (32 - HAND_BITS)];
}

static bool hand_put(const char *verb, const char *behind, void (*act)(size_t from, size_t to)) {
    char text[6];
    strcpy(text, verb);
    strcat(text, behind);
    struct hand_verb *place = hand_place(hand_word(text));
    if (place->act != NULL && place->act != act) {
        return false;
    }
    *place = (struct hand_verb){hand_word(text), (uint32_t)strlen(verb), act};
    return true;
}

/* A verb of three letters has the byte behind it in its word. */
#define PUT(kind, verb)                                                                            \
    good = good && hand_put(verb, sizeof verb == 4 ? " " : "", hand_##kind) &&                     \
           hand_put(verb, sizeof verb == 4 ? "\r" : "", hand_##kind);

bool bench_setup(void) {
    for (; hand_by < 1u << 24; hand_by += 2) {
        bool good = true;
        memset(hand_verbs, 0, sizeof hand_verbs);
        VERBS(PUT)
        if (good) {
            return true;
        }
    }
    return false;
}

size_t bench_code(void) {
    return 0;
}

void bench_begin(const uint8_t *input) {
    driver.input = driver.from = input;
}

/* The first byte that is of no argument; a 0 lies at the end. */
static inline const uint8_t *hand_argument(const uint8_t *p, const uint8_t *end) {
    for (; end - p >= 16; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i out = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r'));
        out = _mm_or_si128(out, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')));
        out = _mm_or_si128(out, _mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
        int found = _mm_movemask_epi8(out);
        if (found != 0) {
            return p + __builtin_ctz((unsigned)found);
        }
    }
    while (*p != '\r' && *p != '\n' && *p != 0) {
        p++;
    }
    return p;
}

/* The command at p; what is behind it, or NULL if it is none. */
static inline const uint8_t *hand_command(const uint8_t *p, const uint8_t *end) {
    if (end - p < HAND_SHORTEST) {
        return NULL;
    }
    uint32_t word = hand_word((const char *)p);
    const struct hand_verb *verb = hand_place(word);
    if (verb->act == NULL || verb->word != word) {
        return NULL;
    }
    const uint8_t *argument = p += verb->length;
    if (*p == ' ') {
        p = hand_argument(p + 1, end);
    }
    if (p[0] != '\r' || p[1] != '\n') {
        return NULL;
    }
    verb->act((size_t)(argument - driver.input), (size_t)(p - driver.input));
    return p + 2;
}

bool bench_feed(uint8_t *piece, size_t n) {
    const uint8_t *end = piece + n, *p = driver.from;
    while (p != NULL && p < end) {
        p = hand_command(p, end);
    }
    driver.from = p;
    return p != NULL;
}

bool bench_end(const uint8_t *end) {
    return driver.from == end;
}
