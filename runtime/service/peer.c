/* peer.c: clients' addresses, asked for when they connect.
 *
 * Join point: open. State: a slab of texts, one per slot, made at first use; of the process. A
 * slot's text is its session's own. Must not know what kind of io names the peers. */
#include "peer.h"
#include "../platform/platform.h"

#include <stdatomic.h>

enum { PEER_TEXT = 64 };

static _Atomic(void *) peer_slab;

/* NULL: no memory for the slab. */
static char *peer_text(const nest_session *s) {
    char(*slab)[PEER_TEXT] = nest__slab(&peer_slab, sizeof *slab);
    return slab == NULL ? NULL : slab[s->self.slot];
}

void nest__peer_open(nest_session *s) {
    char *text = peer_text(s);
    if (text != NULL) {
        nest__peer_text(&s->c0, text, PEER_TEXT);
    }
}

const char *nest_peer(nest_session *s) {
    const char *text = peer_text(s);
    return text != NULL ? text : "unknown";
}

uint64_t nest__peer_memory(void) {
    return PEER_TEXT;
}
