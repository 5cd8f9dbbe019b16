/* batch.c: a loop sends the records of some milliseconds together.
 *
 * State, of a worker: the records that wait. A helper thread may add one, and a crash sends those
 * that are there. */
#include "../../platform/platform.h"
#include "sinks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
    BATCH_MS = 20,
    BATCH_TRIES = 1000
}; /* tries: for the lock, by a thread that crashes: it may hold it itself */

/* scope: process */
static struct {
    pthread_mutex_t lock;
    _Atomic size_t n;
    unsigned lines;
    char records[NEST__SINK_RECORD];
} batch = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The caller holds the lock. */
static void batch_send(void) {
    size_t n = atomic_load_explicit(&batch.n, memory_order_relaxed);
    if (n > 0 && !nest__sink_send(batch.records, n)) {
        nest__sink_drop(batch.lines);
    }
    atomic_store_explicit(&batch.n, 0, memory_order_relaxed);
    batch.lines = 0;
}

void nest__sink_put(const char *record, size_t n) {
    pthread_mutex_lock(&batch.lock);
    size_t before = atomic_load_explicit(&batch.n, memory_order_relaxed);
    if (n > sizeof batch.records - before) {
        batch_send();
        before = 0;
    }
    memcpy(batch.records + before, record, n);
    atomic_store_explicit(&batch.n, before + n, memory_order_relaxed);
    batch.lines++;
    if (nest__stopping()) { /* the loop may never ask again */
        batch_send();
    }
    pthread_mutex_unlock(&batch.lock);
}

unsigned nest__sink_due(void) {
    return atomic_load_explicit(&batch.n, memory_order_relaxed) > 0 ? BATCH_MS : 0;
}

void nest__sink_tick(void) {
    if (atomic_load_explicit(&batch.n, memory_order_relaxed) > 0) {
        pthread_mutex_lock(&batch.lock);
        batch_send();
        pthread_mutex_unlock(&batch.lock);
    }
}

bool nest__sink_tell(const void *line, size_t n) {
    bool locked = false;
    for (int i = 0; i < BATCH_TRIES && !locked; i++) {
        locked = pthread_mutex_trylock(&batch.lock) == 0;
    }
    if (locked) {
        batch_send();
    }
    bool told = nest__sink_send_error(line, n);
    if (locked) {
        pthread_mutex_unlock(&batch.lock);
    }
    return told;
}
