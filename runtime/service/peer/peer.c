/* peer.c: clients' addresses, looked up when they connect.
 *
 * Called at join points. State: a slab of texts, one for each slot, made at first use. Must not
 * know what kind of channel has the address. */
#include "peer.h"
#include "../../platform/platform.h"
#include "../proxied/proxied.h"

#include <stdatomic.h>

enum { PEER_TEXT = 64 };

/* scope: process, shared by its threads; set once. A slot's text is its session's own. */
static _Atomic(void *) peer_slab;

/* NULL: no memory for the slab. */
static char *peer_text(const nest_session *s) {
    char(*slab)[PEER_TEXT] = nest__slab(&peer_slab, sizeof *slab);
    return slab == NULL ? NULL : slab[s->self.slot];
}

void nest__peer_open(nest_session *s) {
    char *text = peer_text(s);
    if (text != NULL) {
        nest__client_text(s, text, PEER_TEXT);
    }
}

const char *nest_peer(nest_session *s) {
    const char *text = peer_text(s);
    return text != NULL ? text : "unknown";
}

struct nest__need nest__peer_need(void) {
    return (struct nest__need){"its address, for $peer", NULL, PEER_TEXT, 0};
}
