/* recognise.rules.h: what nest.c reports of recognise.nest: where a head ends. */
#include "rule.h"

static const struct bench_rule bench_rules[] = {{BENCH_START | BENCH_DEFAULT, 1, {{0, 0}}}};
