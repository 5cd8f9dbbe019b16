/* keep.c: memory that actions keep until their connection ends.
 *
 * Called by actions and at join points. State: the allocations, in the session's work block. */
#include "keep.h"
#include "../../engine/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct nest__kept { /* the user's bytes follow */
    union {
        struct nest__kept *next;
        max_align_t align;
    } head;
};

enum { KEEP_LEAST = 32 }; /* each allocation counts at least this much */
_Static_assert(sizeof(struct nest__kept) <= KEEP_LEAST,
               "the records take no more memory than keepLimit allows");

/* Each allocation counts at least as much as its record, so records are at most half. */
struct nest__need nest__keep_need(void) {
    return (struct nest__need){"$keep", "keepLimit", 2 * (uint64_t)nest__config.keep_limit, 0};
}

bool nest__keep_holds(const struct nest__work *work) {
    return work->services.keep.first != NULL;
}

void nest__keep_drop(struct nest__work *work) {
    for (struct nest__kept *kept = work->services.keep.first, *next; kept != NULL; kept = next) {
        next = kept->head.next;
        free(kept);
    }
    work->services.keep.first = NULL;
    work->services.keep.n = 0;
}

void *nest_keep(nest_session *s, size_t n) {
    struct nest__work *work = nest__borrow(s);
    size_t most = nest__config.keep_limit; /* a reload may have reduced it below what is kept */
    size_t counts = n < KEEP_LEAST ? KEEP_LEAST : n;
    if (work == NULL || work->services.keep.n > most || counts > most - work->services.keep.n) {
        errno = ENOMEM;
        return NULL;
    }
    struct nest__kept *kept = malloc(sizeof *kept + n);
    if (kept == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    kept->head.next = work->services.keep.first;
    work->services.keep.first = kept;
    work->services.keep.n += counts;
    return memset(kept + 1, 0, n);
}
