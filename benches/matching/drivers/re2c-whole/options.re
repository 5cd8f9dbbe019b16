/*!re2c
    re2c:api:style = free-form;
    re2c:define:YYCTYPE = "uint8_t";
    re2c:define:YYCURSOR = cursor;
    re2c:define:YYMARKER = marker;
    re2c:tags:expression = "tags.@@";
    re2c:yyfill:enable = 0;
*/
