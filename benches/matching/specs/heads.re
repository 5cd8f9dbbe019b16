/* heads.re: a head, line by line: method, target, version; name, value. */
#include <stdint.h>
struct tags {
    /*!stags:re2c format = "const uint8_t *@@;"; */
};
#include "lexer.h"

/*!include:re2c "options.re" */
/*!re2c
    crlf = "\r\n";
    token = [-!#$%&'*+.^_`|~0-9A-Za-z]+;
    value = [!-~\x80-\xff][\t -~\x80-\xff]*;
*/

/*!include:re2c "enter.re" */
    const uint8_t *a, *b, *c;
line:
    token = cursor;
    /*!re2c
    [A-Z]+ @a " " [!-~]+ @b " HTTP/" [0-9] "." [0-9] crlf {
        bench_part(0, (size_t)(token - input), (size_t)(a - input));
        bench_part(1, (size_t)(a + 1 - input), (size_t)(b - input));
        bench_part(2, (size_t)(cursor - 5 - input), (size_t)(cursor - 2 - input));
        goto head;
    }
    !include "rest.re";
    */
head:
    token = cursor;
    /*!re2c
    token @a ":" [ \t]* @b value? @c crlf {
        bench_part(3, (size_t)(token - input), (size_t)(a - input));
        bench_part(4, (size_t)(b - input), (size_t)(c - input));
        goto head;
    }
    crlf { goto line; }
    !include "rest.re";
    */
/*!include:re2c "leave.re" */
