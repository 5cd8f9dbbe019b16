/* memcached.rules.h: what nest.c reports of memcached.nest. */
#include "rule.h"

static const struct bench_rule bench_rules[] = {
    {BENCH_START | BENCH_DEFAULT, 1, {{4, 0}}},
    {BENCH_START | BENCH_DEFAULT, 4, {{3, 1}, {5, 2}, {7, 3}, {9, 4}}},
    {BENCH_START | BENCH_DEFAULT, 1, {{3, 5}}},
    {BENCH_START | BENCH_DEFAULT, 2, {{3, 6}, {5, 7}}},
};
