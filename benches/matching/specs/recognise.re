/* recognise.re: whole heads, and where they end. */
#include <stdint.h>
struct tags {
    /*!stags:re2c format = "const uint8_t *@@;"; */
};
#include "lexer.h"

/*!include:re2c "options.re" */
/*!include:re2c "enter.re" */
head:
    token = cursor;
    /*!re2c
    crlf = "\r\n";
    token = [-!#$%&'*+.^_`|~0-9A-Za-z]+;
    value = [!-~\x80-\xff][\t -~\x80-\xff]*;

    [A-Z]+ " " [!-~]+ " HTTP/" [0-9] "." [0-9] crlf (token ":" [ \t]* value? crlf)* crlf {
        bench_part(0, (size_t)(token - input), (size_t)(cursor - input));
        goto head;
    }
    !include "rest.re";
    */
/*!include:re2c "leave.re" */
