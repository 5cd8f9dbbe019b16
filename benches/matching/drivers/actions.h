/* actions.h: for actions of nest's specifications: reports a part by where it lies in the message.
 */
#include "bench.h"

extern size_t bench_at;

static inline void part(unsigned kind, const char *message, const char *p, size_t n) {
    size_t start = bench_at + (size_t)(p - message);
    bench_part(kind, start, start + n);
}
