/* text.c: bounded text: strlcpy, strlcat, and lines built without stdio.
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

void nest__line_add(struct nest__line *line, const char *text) {
    while (*text != '\0') {
        nest__line_char(line, *text++);
    }
}

void nest__line_number(struct nest__line *line, uint64_t number) {
    char digits[20];
    unsigned n = 0;
    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (n > 0) {
        nest__line_char(line, digits[--n]);
    }
}

const char *nest__reason_word(enum nest_reason reason) {
    static const char *const words[NEST_REASONS] = {
        [NEST_OPEN] = "crash",        [NEST_CLOSED] = "closed",   [NEST_EOF] = "eof",
        [NEST_GONE] = "gone",         [NEST_INPUT] = "input",     [NEST_STUCK] = "stuck",
        [NEST_OVERFLOW] = "overflow", [NEST_TIMEOUT] = "timeout", [NEST_SHUTDOWN] = "shutdown",
        [NEST_OVERLOAD] = "overload",
    };
    return words[reason];
}
