/* peer.c: clients' addresses, asked for when they connect.
 *
 * Join point: open. State: a slab of texts, one per slot, made at first use; of the process. A
 * slot's text is its session's own. Must not know what kind of io names the peers. */
#include "peer.h"

#include <stdatomic.h>
#include <sys/mman.h>

enum { PEER_TEXT = 64 };

static char (*_Atomic peer_slab)[PEER_TEXT];

/* The slab, made by whoever is first; NULL: no memory. */
static char (*peer_texts(void))[PEER_TEXT] {
    char(*slab)[PEER_TEXT] = atomic_load(&peer_slab);
    if (slab == NULL) {
        size_t size = (size_t)nest__config.max_clients * PEER_TEXT;
        void *made = mmap(NULL, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (made == MAP_FAILED) {
            return NULL;
        }
        if (atomic_compare_exchange_strong(&peer_slab, &slab, made)) {
            return made;
        }
        munmap(made, size); /* another thread was first: slab is its */
    }
    return slab;
}

void nest__peer_open(nest_session *s) {
    char(*slab)[PEER_TEXT] = peer_texts();
    if (slab != NULL) {
        nest__peer_text(&s->c0, slab[s->self.slot], PEER_TEXT);
    }
}

const char *nest_peer(nest_session *s) {
    char(*slab)[PEER_TEXT] = peer_texts();
    return slab != NULL ? slab[s->self.slot] : "unknown";
}
