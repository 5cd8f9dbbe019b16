/* text.c: escaped text can be decoded again, and contains no control characters of a terminal.
 *
 * Run by `make text`. The argument is a seed, which a failure prints. Random texts with many
 * special characters are escaped by platform/text.c and decoded by code that is independent of it.
 * State: the seed. */
#include "sample/sizes.h"

#include "../platform/text.c"

#include <stdio.h>
#include <stdlib.h>

enum { TEXT_MOST = 200, TEXT_ROUNDS = 200000 };

static uint64_t state, seed;

static uint32_t draw(uint32_t below) { /* splitmix64 */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) % below);
}

static void fail(const char *what, const uint8_t *bytes, size_t n, const struct nest__line *line) {
    printf("FAILED: text, seed %llu: %s:", (unsigned long long)seed, what);
    for (size_t i = 0; i < n; i++) {
        printf(" %02x", bytes[i]);
    }
    printf(" is shown as %.*s\n", (int)line->n, line->p);
    exit(1);
}

/* Writes a random byte, or a text that is special: an escape, a code point, or invalid UTF-8. */
static size_t piece(uint8_t *to) {
    static const char *const pieces[] = {"\\",
                                         "\\x1b",
                                         "\\n",
                                         "\"",
                                         "\r",
                                         "\n",
                                         "\t",
                                         "\x1b[31m",
                                         "\x7f",
                                         "\xc2\x80",
                                         "\xc2\x9b",
                                         "\xc2\x9f",
                                         "\xc2\xa0",
                                         "\xd8\x9c",
                                         "\xe2\x80\x8e",
                                         "\xc3\xa9",
                                         "\xe2\x80\x8f",
                                         "\xe2\x80\xa8",
                                         "\xe2\x80\xa9",
                                         "\xe2\x80\xaa",
                                         "\xc0\xaf",
                                         "\xe2\x80\xae",
                                         "\xe2\x81\xa6",
                                         "\xe2\x81\xa9",
                                         "\xe2\x81\xaa",
                                         "\xc1\x9b",
                                         "\xe0\x82\x9b",
                                         "\xed\xa0\x80",
                                         "\xef\xbf\xbd",
                                         "\xf0\x9f\x98\x80",
                                         "\xe2\x80",
                                         "\xf0\x9f\x98",
                                         "\xf4\x90\x80",
                                         "\x9b",
                                         "\xf5\x80\x80\x80",
                                         "\xc2",
                                         "\xe2\x82\xac",
                                         "\xf0\x80\x82\x9b"};
    if (draw(3) == 0) {
        to[0] = (uint8_t)draw(256);
        return 1;
    }
    const char *chosen = pieces[draw(sizeof pieces / sizeof pieces[0])];
    memcpy(to, chosen, strlen(chosen));
    return strlen(chosen);
}

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes escaped text into `to`. Returns its size; SIZE_MAX: an escape is not valid. */
static size_t decode(const char *p, size_t n, uint8_t *to) {
    size_t out = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] != '\\') {
            to[out++] = (uint8_t)p[i];
        } else if (i + 1 < n && p[i + 1] != 'x') {
            static const char letters[] = "rnt\\\"", meant[] = "\r\n\t\\\"";
            const char *found = strchr(letters, p[++i]);
            if (found == NULL || p[i] == '\0') {
                return SIZE_MAX;
            }
            to[out++] = (uint8_t)meant[found - letters];
        } else if (i + 3 < n && digit(p[i + 2]) >= 0 && digit(p[i + 3]) >= 0) {
            to[out++] = (uint8_t)(digit(p[i + 2]) * 16 + digit(p[i + 3]));
            i += 3;
        } else {
            return SIZE_MAX;
        }
    }
    return out;
}

/* Returns what the text contains that must have been escaped; NULL if there is nothing. */
static const char *forbidden(const uint8_t *p, size_t n) {
    for (size_t i = 0; i < n;) {
        uint32_t c = p[i];
        unsigned more = c < 0x80 ? 0 : (c & 0xe0) == 0xc0 ? 1 : (c & 0xf0) == 0xe0 ? 2 : 3;
        if (c < ' ' || c == 0x7f) {
            return "a control";
        }
        if (c >= 0x80 && (c < 0xc2 || c > 0xf4 || i + more >= n)) {
            return "no UTF-8";
        }
        c = more == 0 ? c : c & (0x3fu >> more);
        for (unsigned k = 1; k <= more; k++) {
            if (p[i + k] < 0x80 || p[i + k] > 0xbf) {
                return "no UTF-8";
            }
            c = c * 64 + p[i + k] - 0x80;
        }
        if ((more == 2 && c < 0x800) || (more == 3 && (c < 0x10000 || c > 0x10ffff)) ||
            (c & ~0x7ffu) == 0xd800) {
            return "no UTF-8";
        }
        if (c >= 0x80 && c < 0xa0) {
            return "a control of C1";
        }
        if (c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
            (c >= 0x2066 && c <= 0x2069)) {
            return "a bidirectional control";
        }
        if (c == 0x2028 || c == 0x2029) {
            return "a separator of lines";
        }
        i += 1 + more;
    }
    return NULL;
}

static void one(const uint8_t *bytes, size_t n) {
    char text[TEXT_MOST * NEST__ESCAPED + 2], quoted[TEXT_MOST * NEST__ESCAPED + 2];
    uint8_t back[TEXT_MOST * NEST__ESCAPED + 2];
    struct nest__line line = {text, 0, n * NEST__ESCAPED};
    nest__line_text(&line, bytes, n);
    if (decode(line.p, line.n, back) != n || memcmp(back, bytes, n) != 0) {
        fail("it cannot be read back", bytes, n, &line);
    }
    const char *wrong = forbidden((const uint8_t *)line.p, line.n);
    if (wrong != NULL) {
        fail(wrong, bytes, n, &line);
    }
    struct nest__line quote = {quoted, 0, n * NEST__ESCAPED + 2};
    nest__line_quote(&quote, bytes, n);
    if (quote.n < 2 || decode(quote.p + 1, quote.n - 2, back) != n || memcmp(back, bytes, n) != 0) {
        fail("it cannot be read back from quotes", bytes, n, &quote);
    }
    for (size_t i = 0; i < quote.n; i++) {
        bool edge = i == 0 || i == quote.n - 1;
        if (quote.p[i] < ' ' || quote.p[i] > '~' ||
            (quote.p[i] == '"' && !edge && quote.p[i - 1] != '\\')) {
            fail("a quote holds more than ASCII", bytes, n, &quote);
        }
    }
}

/* Ordinary text is not escaped, so that a log remains readable. */
static void stays(void) {
    static const char kept[] = "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \"a\" ~\xc2\xa0";
    char text[sizeof kept * NEST__ESCAPED];
    struct nest__line line = {text, 0, sizeof text};
    nest__line_text(&line, kept, sizeof kept - 1);
    if (line.n != sizeof kept - 1 || memcmp(text, kept, line.n) != 0) {
        fail("plain text is escaped", (const uint8_t *)kept, sizeof kept - 1, &line);
    }
}

int main(int argc, char **argv) {
    uint8_t bytes[TEXT_MOST];
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    state = seed;
    stays();
    for (unsigned i = 0; i < 65536; i++) { /* all pairs of bytes */
        one((const uint8_t[]){(uint8_t)(i >> 8), (uint8_t)i}, 2);
    }
    /* Each byte in each place, because text.c examines words of 8 bytes. */
    for (unsigned i = 0; i < 17 * 256; i++) {
        memset(bytes, 'x', 17);
        bytes[i / 256] = (uint8_t)i;
        one(bytes, 17);
    }
    for (unsigned round = 0; round < TEXT_ROUNDS; round++) {
        size_t n = 0, most = draw(TEXT_MOST - 8);
        while (n < most) {
            n += piece(bytes + n);
        }
        one(bytes, n);
    }
    printf("text: %d texts, seed %llu\n", TEXT_ROUNDS + 65536 + 17 * 256, (unsigned long long)seed);
    return 0;
}
