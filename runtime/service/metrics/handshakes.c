/* handshakes.c: counts the handshakes of TLS, by how they ended.
 *
 * Called at a join point, and by text.c in the service process. No state. A handshake may end
 * before there is a session, so its thread is not known: all threads of a worker count in one
 * place. Must not know how a handshake works. */
#include "counts.h"

void nest__metrics_shaken(bool complete, bool resumed) {
    struct nest__metrics_worker *own = nest__metrics_own();
    unsigned how = !complete ? NEST__METRICS_FAILED
                   : resumed ? NEST__METRICS_RESUMED
                             : NEST__METRICS_FULL;
    nest__metrics_thread(own, 0);
    atomic_fetch_add_explicit(&own->threads[0].shakes[how], 1, memory_order_relaxed);
}

void nest__metrics_shakes(struct nest__metrics_text *text, enum nest__metrics_format format,
                          const struct nest__metrics_counts *counts) {
    static const char *const ends[] = {"full", "resumed", "failed"};
    nest__metrics_family(text, format, "nest_tls_handshakes",
                         "Handshakes, by their end; full: complete, with a new session.", true,
                         NULL);
    for (unsigned how = 0; how < NEST__METRICS_SHAKES; how++) {
        nest__metrics_put(text, "nest_tls_handshakes_total{end=\"%s\"} %llu\n", ends[how],
                          (unsigned long long)atomic_load(&counts->shakes[how]));
    }
}
