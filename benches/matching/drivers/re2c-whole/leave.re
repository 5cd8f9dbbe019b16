refused:
    lexer.token = token;
    return token == piece + n;
}
