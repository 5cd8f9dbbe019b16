/* early.c: see early.h.
 *
 * State: of this process: a pointer for each channel, in memory that is touched where it is used.
 */
#include "early.h"
#include "../channel/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct nest__early **early;

int nest__early_begin(void) {
    size_t channels = nest__further_is(1) ? 1 + NEST__FURTHER : 1;
    void *p = mmap(NULL, channels * nest__config.max_clients * sizeof *early,
                   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    early = p == MAP_FAILED ? NULL : p;
    return early == NULL ? -ENOMEM : 0;
}

static struct nest__early **early_at(const nest_session *s, const struct nest__chan *chan) {
    const struct nest__further *further = nest__further_of(s, chan);
    return &early[further == NULL ? s->self.slot
                                  : nest__config.max_clients + nest__further_index(further)];
}

struct nest__early *nest__early_of(const nest_session *s, const struct nest__chan *chan) {
    return *early_at(s, chan);
}

int nest__early_put(const nest_session *s, const struct nest__chan *chan, const void *p, uint32_t n,
                    bool ended, int32_t end) {
    struct nest__early *new = malloc(sizeof *new + n);
    if (new == NULL) {
        return -ENOMEM;
    }
    *new = (struct nest__early){.n = n, .ended = ended, .end = end};
    if (n > 0) {
        memcpy(new->bytes, p, n);
    }
    *early_at(s, chan) = new;
    return 0;
}

void nest__early_drop(const nest_session *s, const struct nest__chan *chan) {
    struct nest__early **at = early_at(s, chan);
    free(*at);
    *at = NULL;
}
