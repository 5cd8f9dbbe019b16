/* helpers_none.c: a worker that blocks has no helper threads. */
#include "counts.h"

void nest__metrics_count_helpers(struct nest__metrics_worker *own) {
    (void)own;
}
