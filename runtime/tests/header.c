/* header.c: the parser of PROXY headers under libFuzzer.
 *
 * Run by `make header`. The first byte says how the rest is cut into pieces: the answer, what is
 * taken and the address must not depend on that, and no byte behind the header is taken. What the
 * parser accepts must begin like a header. */
#include "sample/sizes.h"

#include "../service/proxied/header.c"

#include <stdlib.h>

struct found {
    struct nest__header header;
    int verdict;
    uint32_t taken;
};

static void need(bool condition) {
    if (!condition) {
        abort();
    }
}

static struct found read_in(const uint8_t *p, uint32_t n, uint32_t piece) {
    struct found found = {.verdict = NEST__HEADED_MORE};
    while (found.verdict == NEST__HEADED_MORE && found.taken < n) {
        uint32_t left = n - found.taken, used = 0;
        uint8_t *copy = malloc(left < piece ? left : piece); /* so that reading beyond is seen */
        need(copy != NULL);
        memcpy(copy, p + found.taken, left < piece ? left : piece);
        found.verdict = nest__header_take(&found.header, copy, left < piece ? left : piece, &used);
        free(copy);
        need(used > 0 && used <= piece);
        found.taken += used;
    }
    return found;
}

static void look(const struct found *found, const uint8_t *p) {
    const struct nest__header *h = &found->header;
    need(h->n <= NEST__HEADER_MOST);
    need(found->verdict == NEST__HEADED_DONE || h->skip > 0 || h->from == NEST__HEADER_OWN);
    if (found->verdict != NEST__HEADED_DONE) {
        return;
    }
    need(h->skip == 0);
    if (p[0] == 'P') {
        need(memcmp(p, header_word, sizeof header_word) == 0 && found->taken <= NEST__HEADER_MOST);
        need(memcmp(p + found->taken - 2, "\r\n", 2) == 0);
    } else {
        need(memcmp(p, header_signature, sizeof header_signature) == 0);
        need(found->taken == 16u + (uint32_t)(p[14] << 8 | p[15]));
    }
    if (h->from == NEST__HEADER_INET && p[0] != 'P' && p[13] == 0x21) {
        need(memcmp(h->bytes, p + 16, 16) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || size > 70000) {
        return 0;
    }
    const uint8_t *p = data + 1;
    uint32_t n = (uint32_t)size - 1, piece = data[0] % 31 + 1u;
    struct found whole = read_in(p, n, n), pieces = read_in(p, n, piece);
    need(whole.verdict == pieces.verdict && whole.taken == pieces.taken);
    need(memcmp(&whole.header, &pieces.header, sizeof whole.header) == 0);
    look(&whole, p);
    return 0;
}
