/* peer.c, without the feature: a client's address is asked for when a C helper wants it, and is
 * "gone" once the connection is reset.
 *
 * No state: the text lies in the action's own memory. */
#include "../engine/engine.h"
#include "../platform/platform.h"

const char *nest_peer(nest_session *s) {
    char text[NEST__ADDRESS_TEXT];
    nest__peer_text(&s->c0, text, sizeof text);
    char *kept = nest__arena_take(s, sizeof text);
    if (kept == NULL) {
        return "unknown";
    }
    nest_strlcpy(kept, text, sizeof text);
    return kept;
}

uint64_t nest__peer_memory(void) {
    return 0;
}
