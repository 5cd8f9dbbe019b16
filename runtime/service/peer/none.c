/* none.c: looks up a client's address when a C function asks for it; after a reset it is "gone".
 *
 * No state: the text is in the memory of the running action. */
#include "../../engine/engine.h"
#include "../../platform/platform.h"
#include "../proxied/proxied.h"

const char *nest_peer(nest_session *s) {
    char text[NEST__ADDRESS_TEXT];
    nest__client_text(s, text, sizeof text);
    char *kept = nest__arena_take(s, sizeof text);
    if (kept == NULL) {
        return "unknown";
    }
    nest_strlcpy(kept, text, sizeof text);
    return kept;
}
