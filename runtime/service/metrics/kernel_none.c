/* kernel_none.c: a server without kernelCache. No state. */
#include "counts.h"

void nest__metrics_kernel(struct nest__metrics_text *text, enum nest__metrics_format format) {
    (void)text, (void)format;
}
