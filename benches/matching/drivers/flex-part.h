/* flex-part.h: what an action of a scanner reports. Included before the scanner. */
#include "bench.h"

static const uint8_t *driver_input;

/* A part of the message that has matched, from its byte `from` to the byte `less` from its end. */
#define PART(kind, from, less)                                                                     \
    bench_part(kind, (size_t)((const uint8_t *)yytext - driver_input) + (from),                    \
               (size_t)((const uint8_t *)yytext - driver_input) + (size_t)yyleng - (less))
