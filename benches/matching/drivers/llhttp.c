/* llhttp.c: Node.js's parser of HTTP, which calls back with spans, or when a message is complete.
 *
 * callbacks.h says with which. A request's body is no part of the task: each head is the last thing
 * of its message, and the next follows. */
#include <llhttp/llhttp.h>

#include "bench.h"

static llhttp_t driver_parser;
static const uint8_t *driver_input, *driver_from, *driver_fed;

static int on_headers_complete(llhttp_t *parser) {
    (void)parser;
    return 1; /* no body */
}

#include "callbacks.h"

bool bench_setup(void) {
    llhttp_init(&driver_parser, HTTP_REQUEST, &settings);
    llhttp_set_lenient_keep_alive(&driver_parser, 1);
    return true;
}

size_t bench_code(void) {
    return 0;
}

void bench_begin(const uint8_t *input) {
    driver_input = driver_from = driver_fed = input;
    llhttp_reset(&driver_parser);
}

bool bench_feed(uint8_t *piece, size_t n) {
    const char *at = (const char *)piece, *end = at + n;
    llhttp_errno_t error;
    while ((error = llhttp_execute(&driver_parser, at, (size_t)(end - at))) == HPE_PAUSED) {
        at = llhttp_get_error_pos(&driver_parser);
        bench_part(0, (size_t)(driver_from - driver_input),
                   (size_t)((const uint8_t *)at - driver_input));
        driver_from = (const uint8_t *)at;
        llhttp_resume(&driver_parser);
    }
    driver_fed = piece + n;
    return error == HPE_OK;
}

bool bench_end(const uint8_t *end) {
    return driver_fed == end;
}
