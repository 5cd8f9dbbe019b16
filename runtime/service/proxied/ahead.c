/* ahead.c: the header of a proxy that comes in clear before a handshake.
 *
 * Called by loop/ and blocking/ while the connection is not encrypted. No state: the header is the
 * session's (proxied.c). What follows the header belongs to the handshake, so the bytes are looked
 * at where they are, and only those of the header are received. Must not know how a handshake
 * works, nor what waits. */
#include "../../channel/socket.h"
#include "proxied.h"

#include <errno.h>

enum { AHEAD_BYTES = 1024 }; /* in one call: others have a turn */

int nest__proxied_ahead(const nest_session *s) {
    uint8_t bytes[AHEAD_BYTES];
    int64_t n = nest__socket_peek(&s->c0, bytes, sizeof bytes);
    if (n == -EAGAIN || n == -EINTR) {
        return -EAGAIN;
    }
    if (n <= 0) { /* health checks of proxies send nothing */
        if (n == 0 && nest__proxied_begun(s)) {
            nest__proxied_say(s, "ends before it is complete");
        }
        return -ECONNRESET;
    }
    struct nest__window window = {bytes, (uint32_t)n, true};
    int verdict = nest__proxied_take(s, &window);
    if (verdict == NEST__HEADED_WRONG) {
        nest__proxied_say(s, "is malformed");
        return -EPROTO;
    }
    size_t used = (size_t)n - window.n;
    if (nest__socket_receive(&s->c0, bytes, used, NEST__CHAN_NOW) != (int64_t)used) {
        return -ECONNRESET;
    }
    return verdict == NEST__HEADED_DONE ? 0 : -EAGAIN;
}
