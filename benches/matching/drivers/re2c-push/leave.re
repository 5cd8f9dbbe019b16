wait:
    lexer.token = token;
    lexer.cursor = cursor;
    lexer.marker = marker;
    lexer.tags = tags;
    lexer.accept = yyaccept;
    *limit = behind;
    return true;
refused:
    *limit = behind;
    return false;
}
