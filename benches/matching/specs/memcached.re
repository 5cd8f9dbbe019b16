/* memcached.re: command lines of memcached. Keys of one command are one part. */
#include <stdint.h>
struct tags {
    /*!stags:re2c format = "const uint8_t *@@;"; */
};
#include "lexer.h"

/*!include:re2c "options.re" */
/*!include:re2c "enter.re" */
    const uint8_t *a, *b, *c, *d, *e;
line:
    token = cursor;
    /*!re2c
    crlf = "\r\n";
    key = [!-~]+;
    number = [0-9]+;
    quiet = (" noreply")?;

    "get" "s"? " " @a key (" " key)* crlf {
        bench_part(0, (size_t)(a - input), (size_t)(cursor - 2 - input));
        goto line;
    }
    ("set" | "add" | "replace") " " @a key @b " " number @c " " number @d " " number @e quiet crlf {
        bench_part(1, (size_t)(a - input), (size_t)(b - input));
        bench_part(2, (size_t)(b + 1 - input), (size_t)(c - input));
        bench_part(3, (size_t)(c + 1 - input), (size_t)(d - input));
        bench_part(4, (size_t)(d + 1 - input), (size_t)(e - input));
        goto line;
    }
    "delete " @a key @b quiet crlf {
        bench_part(5, (size_t)(a - input), (size_t)(b - input));
        goto line;
    }
    ("incr" | "decr") " " @a key @b " " number @c quiet crlf {
        bench_part(6, (size_t)(a - input), (size_t)(b - input));
        bench_part(7, (size_t)(b + 1 - input), (size_t)(c - input));
        goto line;
    }
    !include "rest.re";
    */
/*!include:re2c "leave.re" */
