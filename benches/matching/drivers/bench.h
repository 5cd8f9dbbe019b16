/* bench.h: what the harness asks of a matcher, and where a matcher puts what it finds.
 *
 * One program is one matcher of one task: main.c, a driver and what was made of
 * a specification. A driver includes none but this of the others. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sums of what was found, by kind of part. Starts and ends are offsets in the input: two matchers
 * that find the same parts have the same sums, and nothing is optimised away. */
struct bench_sums {
    uint64_t starts, ends;
};
enum { BENCH_KINDS = 64 };
extern struct bench_sums bench_sums[BENCH_KINDS];

/* A part of this kind: bytes [start, end) of the input. */
static inline void bench_part(unsigned kind, size_t start, size_t end) {
    bench_sums[kind].starts += start;
    bench_sums[kind].ends += end;
}

/* Whole in memory: bench_feed is called once. A driver that resumes is called for each piece, which
 * lies directly behind the one before; at most one byte behind a piece may be changed during the
 * call. Behind the input lies a 0, which no grammar of the tasks accepts. */
bool bench_setup(void);                    /* once; false: it cannot run */
void bench_begin(const uint8_t *input);    /* offsets count from here */
bool bench_feed(uint8_t *piece, size_t n); /* false: this is not the task's language */
bool bench_end(const uint8_t *end);        /* whether all up to here has matched */
size_t bench_code(void); /* bytes of code and tables that bench_setup made; 0: all is in the file */

#endif
