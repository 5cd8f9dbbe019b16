/* lexer.h: around the code that re2c makes. Whole in memory the lexer runs to the 0 behind the
 * input and keeps nothing; for pieces it stores its state, and the byte behind a piece is 0 while
 * it runs.
 *
 * Included where `struct tags` has re2c's own variables. The rest of bench_feed is in enter.re,
 * options.re and leave.re of the folder that re2c is given. */
#include "bench.h"

struct lexer {
    const uint8_t *input, *token, *cursor, *marker;
    struct tags tags;
    int state;
    unsigned accept;
};
static struct lexer lexer;

bool bench_setup(void) {
    return true;
}

size_t bench_code(void) {
    return 0;
}

void bench_begin(const uint8_t *input) {
    lexer.input = lexer.token = lexer.cursor = lexer.marker = input;
    lexer.state = -1;
}

bool bench_end(const uint8_t *end) {
    return lexer.token == end;
}
