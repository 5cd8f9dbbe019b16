/* helpers.c: how many jobs of a loop wait for a helper thread. */
#include "../../loop/helpers.h"
#include "counts.h"

void nest__metrics_count_helpers(struct nest__metrics_worker *own) {
    nest__helpers_watch(&own->helper_queue);
}
