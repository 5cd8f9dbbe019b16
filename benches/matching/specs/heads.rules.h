/* heads.rules.h: what nest.c reports of heads.nest. */
#include "rule.h"

static const struct bench_rule bench_rules[] = {
    {BENCH_START | BENCH_DEFAULT | BENCH_FIRST, 3, {{1, 0}, {3, 1}, {5, 2}}},
    {BENCH_START | BENCH_DEFAULT | BENCH_FIRST, 2, {{1, 3}, {4, 4}}},
    {BENCH_START | BENCH_DEFAULT, 0, {{0, 0}}},
};
