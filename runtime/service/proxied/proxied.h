/* proxied.h: listeners that say `proxy`: the header of the proxy, and who the client behind it is.
 *
 * Included by the engine, and by what shows or compares clients' addresses, in every server; the
 * functions exist in servers with NEST__PROXIED. */
#ifndef NEST_SERVICE_PROXIED_H
#define NEST_SERVICE_PROXIED_H

#include "../../seam.h"

/* A client's address: one of IPv6, or ::ffff:a.b.c.d. */
struct nest__from {
    uint8_t bytes[16];
    uint16_t port;
};

struct nest__need nest__proxied_need(void);

/* -- the header */

enum nest__headed { NEST__HEADED_MORE, NEST__HEADED_DONE, NEST__HEADED_WRONG };
enum { NEST__HEADER_MS = 5000 };
/* In how many ms it must arrive, all of it. */
static inline uint32_t nest__proxied_limit(void) {
    uint32_t limit = nest__config.read_timeout;
    return limit == 0 || limit > NEST__HEADER_MS ? NEST__HEADER_MS : limit;
}
/* A session begins, or the header before its handshake. -ENOMEM: it cannot keep its header. */
int nest__proxied_open(const nest_session *, const struct nest__arrival *);
/* Takes bytes of the header out of the window. Returns an enum nest__headed. */
int nest__proxied_take(const nest_session *, struct nest__window *);
bool nest__proxied_begun(const nest_session *); /* a byte of the header has arrived */
/* Says that the connection is closed, and what is wrong with its header; at most once a second. */
void nest__proxied_say(const nest_session *, const char *what);
/* In servers with NEST__TLS, before the handshake: receives more of the header, and no byte behind
 * it. 0: it is complete; -EAGAIN: more must come; or it does not come, as a message has said:
 * -EPROTO, and more may be unread; -ECONNRESET. */
int nest__proxied_ahead(const nest_session *);
/* The client's address as the header says. Text: false if it says none. Bytes: -ENOENT if it says
 * none, else whether the address has any. */
bool nest__proxied_text(const nest_session *, char *to, size_t size);
int nest__proxied_bytes(const nest_session *, uint8_t to[16]);

/* -- the address */

/* The client's address: the one that a proxy has said, or else the one of channel 0. The text is
 * async-signal-safe. */
static inline void nest__client_text(const nest_session *s, char *to, size_t size) {
    if (!NEST__PROXIED || !nest__proxied_text(s, to, size)) {
        nest__peer_text(&s->c0, to, size);
    }
}
static inline bool nest__client_bytes(const nest_session *s, uint8_t to[16]) {
    int has = NEST__PROXIED ? nest__proxied_bytes(s, to) : -1;
    return has < 0 ? nest__peer_bytes(&s->c0, to) : has > 0;
}

#endif
