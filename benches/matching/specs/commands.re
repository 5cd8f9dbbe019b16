/* commands.re: commands of a line: which, and its argument with the blank before it. */
#include <stdint.h>
struct tags {
    /*!stags:re2c format = "const uint8_t *@@;"; */
};
#include "lexer.h"

/*!include:re2c "options.re" */
/*!include:re2c "enter.re" */
    const uint8_t *a;
    unsigned kind;
line:
    token = cursor;
    /*!re2c
    argument = (" " [^\r\n\x00]*)? "\r\n";
@verb    'VERB' @a argument { kind = KIND; goto found; }
    !include "rest.re";
    */
found:
    bench_part(kind, (size_t)(a - input), (size_t)(cursor - 2 - input));
    goto line;
/*!include:re2c "leave.re" */
