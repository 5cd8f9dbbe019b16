/* files_none.c: a server without fileCache. No state. */
#include "counts.h"

void nest__metrics_files(struct nest__metrics_text *text, enum nest__metrics_format format) {
    (void)text, (void)format;
}
