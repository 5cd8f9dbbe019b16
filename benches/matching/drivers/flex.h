/* flex.h: around the scanner that flex makes, of which each match is a message.
 *
 * The input is scanned where it is: flex wants two zeros behind it, which main.c has there. flex
 * pulls its input, so it can stop at the end of a buffer only if it may wait there: no pieces.
 * Included behind the scanner. */
#include "bench.h"

static bool driver_clean;

bool bench_setup(void) {
    return true;
}

size_t bench_code(void) {
    return 0;
}

void bench_begin(const uint8_t *input) {
    driver_input = input;
    driver_clean = true;
}

/* The scanner gives true where nothing matches, and false, as all scanners of flex, at the end. */
bool bench_feed(uint8_t *piece, size_t n) {
    YY_BUFFER_STATE buffer = yy_scan_buffer((char *)piece, n + 2);
    driver_clean = buffer != NULL && yylex() == 0;
    yy_delete_buffer(buffer);
    return driver_clean;
}

bool bench_end(const uint8_t *end) {
    (void)end;
    return driver_clean;
}
