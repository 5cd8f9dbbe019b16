/* lines.rules.h: what nest.c reports of lines.nest. */
#include "rule.h"

static const struct bench_rule bench_rules[] = {{BENCH_START | BENCH_DEFAULT, 1, {{1, 0}}}};
