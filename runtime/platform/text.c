/* text.c: bounded text: strlcpy, strlcat, lines built without stdio, and the escaping of text from
 * clients.
 *
 * Called by actions (nest_strl*), by code that writes lines, and by signal handlers. Nothing here
 * allocates, locks or keeps state. */
#include "platform.h"

#include <string.h>

size_t nest_strlcpy(char *to, const char *from, size_t size) {
    size_t n = strlen(from);
    if (size > 0) {
        size_t copied = n < size ? n : size - 1;
        memcpy(to, from, copied);
        to[copied] = '\0';
    }
    return n;
}

size_t nest_strlcat(char *to, const char *from, size_t size) {
    size_t used = 0;
    while (used < size && to[used] != '\0') {
        used++;
    }
    return used + nest_strlcpy(to + used, from, size - used);
}

void nest__line_char(struct nest__line *line, char c) {
    if (line->n < line->size) {
        line->p[line->n++] = c;
    }
}

void nest__line_bytes(struct nest__line *line, const void *bytes, size_t n) {
    n = n < line->size - line->n ? n : line->size - line->n;
    memcpy(line->p + line->n, bytes, n);
    line->n += n;
}

void nest__line_add(struct nest__line *line, const char *text) {
    nest__line_bytes(line, text, strlen(text));
}

void nest__line_number(struct nest__line *line, uint64_t number) {
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    nest__line_bytes(line, digits + at, sizeof digits - at);
}

/* -- text from clients ------------------------------------------------------------------------- */

size_t nest__utf8(const void *bytes, size_t n, uint32_t *code) {
    const uint8_t *p = bytes;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t all = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    *code = 0;
    if (all == 0 || all > n || p[0] > 0xf4) {
        return 0;
    }
    uint32_t point = all == 1 ? p[0] : p[0] & (0x7fu >> all);
    for (size_t i = 1; i < all; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
        point = point << 6 | (p[i] & 0x3fu);
    }
    if (point < least[all] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
        return 0;
    }
    *code = point;
    return all;
}

/* Terminals do not show C0 and C1 controls; the separators end a line; bidirectional controls
 * reorder text. */
bool nest__shows(uint32_t point) {
    return point >= ' ' && (point < 0x7f || point > 0x9f) && point != 0x61c && point != 0x200e &&
           point != 0x200f && (point < 0x2028 || point > 0x202e) &&
           (point < 0x2066 || point > 0x2069);
}

static void text_escape(struct nest__line *line, uint8_t byte) {
    static const char plain[] = "\r\n\t\\\"", letters[] = "rnt\\\"";
    const char *special = byte == 0 ? NULL : strchr(plain, byte);
    nest__line_char(line, '\\');
    if (special != NULL) {
        nest__line_char(line, letters[special - plain]);
    } else {
        nest__line_char(line, 'x');
        nest__line_char(line, "0123456789abcdef"[byte >> 4]);
        nest__line_char(line, "0123456789abcdef"[byte & 15]);
    }
}

void nest__line_text(struct nest__line *line, const void *bytes, size_t n) {
    const uint8_t *p = bytes, *end = p + n;
    while (p < end) {
        uint32_t point;
        size_t length = nest__utf8(p, (size_t)(end - p), &point);
        if (length == 0 || !nest__shows(point) || point == '\\') {
            for (const uint8_t *next = p + (length > 0 ? length : 1); p < next; p++) {
                text_escape(line, *p);
            }
        } else {
            for (; length > 0; length--) {
                nest__line_char(line, (char)*p++);
            }
        }
    }
}

static bool text_quotable(uint8_t byte) {
    return byte >= ' ' && byte <= '~' && byte != '\\' && byte != '"';
}

/* The same of eight bytes at once. A subtraction sets the top bit of a byte below it, of which
 * those are known to have none; it borrows from the next byte only where the answer is false. */
static bool text_quotable_eight(const uint8_t *bytes) {
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t p;
    memcpy(&p, bytes, sizeof p);
    uint64_t found = p | (p - ones * ' ') | ((p ^ ones * 0x7f) - ones) |
                     ((p ^ ones * '\\') - ones) | ((p ^ ones * '"') - ones);
    return (found & tops) == 0;
}

void nest__line_quote(struct nest__line *line, const void *bytes, size_t n) {
    const uint8_t *p = bytes, *end = p + n;
    nest__line_char(line, '"');
    while (p < end) {
        const uint8_t *run = p;
        while (end - p >= 8 && text_quotable_eight(p)) {
            p += 8;
        }
        while (p < end && text_quotable(*p)) {
            p++;
        }
        nest__line_bytes(line, run, (size_t)(p - run));
        if (p < end) {
            text_escape(line, *p++);
        }
    }
    nest__line_char(line, '"');
}

const char *nest__reason_word(enum nest_reason reason) {
    static const char *const words[NEST_REASONS] = {
        [NEST_OPEN] = "crash",        [NEST_CLOSED] = "closed",   [NEST_EOF] = "eof",
        [NEST_GONE] = "gone",         [NEST_INPUT] = "input",     [NEST_STUCK] = "stuck",
        [NEST_OVERFLOW] = "overflow", [NEST_TIMEOUT] = "timeout", [NEST_SHUTDOWN] = "shutdown",
        [NEST_OVERLOAD] = "overload", [NEST_LIMIT] = "limit",     [NEST_RETURNED] = "returned",
        [NEST_DECODE] = "decode",     [NEST_ENCODE] = "encode",
    };
    return words[reason];
}
