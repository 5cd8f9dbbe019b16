/* filtered_none.c: a server without filters. No state. */
#include "counts.h"

void nest__metrics_filters(struct nest__metrics_text *text, enum nest__metrics_format format) {
    (void)text, (void)format;
}
