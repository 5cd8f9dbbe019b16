/* All parsers of the package under libFuzzer. The first byte chooses one. Beside memory errors it
 * looks for answers that depend on how the input is cut. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "../filters/check/path.h"
#include "../filters/proxy/header.h"
#include "ccfhttp.h"
#include "wire.h"

static void need(int condition) {
    if (!condition)
        abort();
}

static void framer(const char *text, size_t n, size_t cut) {
    struct ccf_frame whole = {0}, pieces = {0};
    enum ccf_need a = ccf_http_framer.feed(&whole, text, n), b = CCF_MORE;
    cut = cut % 7 + 1;
    for (size_t have = cut; b == CCF_MORE; have += cut) {
        b = ccf_http_framer.feed(&pieces, text, have < n ? have : n);
        need(pieces.fed <= n);
        if (have >= n)
            break;
    }
    need(a == b);
    need(a != CCF_WHOLE || whole.fed == pieces.fed);
}

static void path(const char *text, size_t n) {
    char to[4200], again[4200];
    size_t start, size;
    if (n > 4096 || !path_in(text, n, &start, &size))
        return;
    need(start + size <= n);
    path_suspicious(text + start, size);
    size_t made = path_simplify(text + start, size, text[n - 1] & 3, true, to);
    need(made <= size + 1 && path_slashes(to, made) <= 1);
    need(path_simplify(to, made, 0, true, again) == made && memcmp(to, again, made) == 0);
}

static void proxy(const char *text, size_t n) {
    struct ccf_address from = {0}, same = {0}, to = {.family = 4};
    char bytes[HEADER_MOST];
    int size = header_read(text, n, &from);
    need(size <= (int)n);
    if (size <= 0 || from.family == 0)
        return;
    to.family = from.family;
    size_t made = header_write(1 + (text[0] & 1), &from, &to, bytes);
    need(header_read(bytes, made, &same) == (int)made && memcmp(&from, &same, sizeof same) == 0);
}

static void message(const char *text, size_t n) {
    struct cc__head head;
    memset(&head, 0, sizeof head);
    memcpy(&head, text, n < sizeof head ? n : sizeof head);
    for (int fds = 0; fds <= CC__FDS; fds++)
        if (cc__valid(&head, n, fds) && head.type == CC__BUNDLE)
            need(cc__bundle_fds(&head) == fds && head.leases <= CC__LEASES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct ccf_http http;
    if (n < 2)
        return 0;
    /* A copy of its own size, so that a read behind the end is noticed. */
    char *text = malloc(n - 1);
    memcpy(text, data + 1, n - 1);
    switch (data[0] % 5) {
    case 0:
        framer(text, n - 1, data[0] / 5);
        break;
    case 1:
        ccf_http_head(text, n - 1, &http);
        break;
    case 2:
        path(text, n - 1);
        break;
    case 3:
        proxy(text, n - 1);
        break;
    default:
        message(text, n - 1);
    }
    free(text);
    return 0;
}
