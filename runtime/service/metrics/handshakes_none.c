/* handshakes_none.c: a server without encryption. No state. */
#include "counts.h"

void nest__metrics_shakes(struct nest__metrics_text *text, enum nest__metrics_format format,
                          const struct nest__metrics_counts *counts) {
    (void)text, (void)format, (void)counts;
}
