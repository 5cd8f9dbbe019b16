/* commands.rules.h: what nest.c reports of commands.nest. */
#include "rule.h"

static const struct bench_rule bench_rules[] = {
@verb     {BENCH_START | BENCH_DEFAULT, 1, {{2, KIND}}}, /* VERB */
};
