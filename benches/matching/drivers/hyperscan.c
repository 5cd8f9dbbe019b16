/* hyperscan.c: libhyperscan, which reports where each pattern's matches end: as a stream for
 * pieces, in block mode for an input that is whole (STREAMED, of the command line).
 *
 * It has no groups. patterns.h has the patterns, and `take`: what is reported of a match that ends
 * at `to`, in a message that begins at `from`; true if the message ends there. */
#include <hs/hs.h>

#include "bench.h"

struct pattern {
    const char *text;
    unsigned flags, id;
};
#include "patterns.h"

enum { PATTERNS = sizeof patterns / sizeof patterns[0] };

static hs_database_t *database;
static hs_scratch_t *scratch;
static hs_stream_t *stream;
static size_t driver_from, driver_fed;
static bool driver_clean;

bool bench_setup(void) {
    const char *texts[PATTERNS];
    unsigned flags[PATTERNS], ids[PATTERNS];
    hs_compile_error_t *error;
    for (unsigned i = 0; i < PATTERNS; i++) {
        texts[i] = patterns[i].text;
        flags[i] = patterns[i].flags;
        ids[i] = patterns[i].id;
    }
    return hs_compile_multi(texts, flags, ids, PATTERNS, STREAMED ? HS_MODE_STREAM : HS_MODE_BLOCK,
                            NULL, &database, &error) == HS_SUCCESS &&
           hs_alloc_scratch(database, &scratch) == HS_SUCCESS;
}

size_t bench_code(void) {
    size_t size = 0;
    hs_database_size(database, &size);
    return size;
}

static int on_match(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
                    void *context) {
    (void)from;
    (void)flags;
    (void)context;
    if (take(id, driver_from, (size_t)to)) {
        driver_from = (size_t)to;
    }
    return 0;
}

void bench_begin(const uint8_t *input) {
    (void)input;
    driver_from = driver_fed = 0;
    driver_clean = true;
    if (STREAMED && stream != NULL) {
        driver_clean = hs_reset_stream(stream, 0, scratch, NULL, NULL) == HS_SUCCESS;
    } else if (STREAMED) {
        driver_clean = hs_open_stream(database, 0, &stream) == HS_SUCCESS;
    }
}

bool bench_feed(uint8_t *piece, size_t n) {
    hs_error_t error =
        STREAMED
            ? hs_scan_stream(stream, (const char *)piece, (unsigned)n, 0, scratch, on_match, NULL)
            : hs_scan(database, (const char *)piece, (unsigned)n, 0, scratch, on_match, NULL);
    driver_fed += n;
    return driver_clean && error == HS_SUCCESS;
}

bool bench_end(const uint8_t *end) {
    (void)end;
    return driver_from == driver_fed;
}
