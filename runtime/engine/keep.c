/* keep.c: memory that actions keep until their connection ends.
 *
 * Called by actions. State: the pieces, in the session's work block, which frees them (work.c). */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A piece counts as much as its record at least. */
uint64_t nest__kept_most(void) {
    return 2 * (uint64_t)nest__config.keep_limit;
}

void *nest_keep(nest_session *s, size_t n) {
    struct nest__work *work = nest__borrow(s);
    size_t most = nest__config.keep_limit; /* perhaps less by now than is kept */
    /* Else records of pieces of a byte, or of none, would take more than all that is kept. */
    size_t counts = n < NEST__KEPT_LEAST ? NEST__KEPT_LEAST : n;
    if (work == NULL || work->kept_n > most || counts > most - work->kept_n) {
        errno = ENOMEM;
        return NULL;
    }
    struct nest__kept *kept = malloc(sizeof *kept + n);
    if (kept == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    kept->head.next = work->kept;
    work->kept = kept;
    work->kept_n += counts;
    return memset(kept + 1, 0, n);
}
