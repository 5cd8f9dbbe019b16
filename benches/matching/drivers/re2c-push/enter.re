bool bench_feed(uint8_t *piece, size_t n) {
    const uint8_t *input = lexer.input, *token = lexer.token, *cursor = lexer.cursor;
    const uint8_t *marker = lexer.marker;
    struct tags tags = lexer.tags;
    uint8_t *limit = piece + n, behind = *limit, yych;
    unsigned yyaccept = lexer.accept;
    (void)yyaccept;
    *limit = 0;
    /*!getstate:re2c*/
