bool bench_feed(uint8_t *piece, size_t n) {
    const uint8_t *input = lexer.input, *token = piece, *cursor = piece, *marker = piece;
    struct tags tags;
    (void)marker;
    (void)tags;
