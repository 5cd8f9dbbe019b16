/* each.c: a worker that blocks sends each record at once.
 *
 * Records of several workers do not mix, because the system writes PIPE_BUF bytes at once or not at
 * all (pipe(7)). */
#include "sinks.h"

void nest__sink_put(const char *record, size_t n) {
    if (!nest__sink_send(record, n)) {
        nest__sink_drop(1);
    }
}

bool nest__sink_tell(const void *line, size_t n) {
    return nest__sink_send_error(line, n);
}
