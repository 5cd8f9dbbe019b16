/*!re2c
    re2c:api:style = free-form;
    re2c:define:YYCTYPE = "uint8_t";
    re2c:define:YYCURSOR = cursor;
    re2c:define:YYMARKER = marker;
    re2c:define:YYLIMIT = limit;
    re2c:define:YYGETSTATE = "lexer.state";
    re2c:define:YYSETSTATE = "lexer.state = @@;";
    re2c:define:YYFILL = "goto wait;";
    re2c:tags:expression = "tags.@@";
    re2c:eof = 0;
*/
