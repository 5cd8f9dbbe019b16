/* lines.re: lines, and what they hold. */
#include <stdint.h>
struct tags {
    /*!stags:re2c format = "const uint8_t *@@;"; */
};
#include "lexer.h"

/*!include:re2c "options.re" */
/*!include:re2c "enter.re" */
line:
    token = cursor;
    /*!re2c
    [^\r\n\x00]* "\r\n" {
        bench_part(0, (size_t)(token - input), (size_t)(cursor - 2 - input));
        goto line;
    }
    !include "rest.re";
    */
/*!include:re2c "leave.re" */
