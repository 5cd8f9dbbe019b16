/* proxied.c: the header of a proxy before the first byte of its client, and the client's address.
 *
 * Called by the engine, and by what shows addresses. State: a slab of headers, one for each slot,
 * made at first use; when the last message about a header was. Must not know where connections come
 * from, nor how bytes are received. */
#include "proxied.h"
#include "../../platform/platform.h"
#include "header.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>

enum { PROXIED_SAY_MS = 1000 };

/* scope: process, shared by its threads; set once. A slot's header is its session's own. */
static _Atomic(void *) proxied_slab;
/* scope: process, shared by its threads. */
static _Atomic uint64_t proxied_said, proxied_unsaid;

/* Async-signal-safe. NULL: there is none. */
static struct nest__header *proxied_header(const nest_session *s) {
    struct nest__header *slab = atomic_load_explicit(&proxied_slab, memory_order_acquire);
    return slab == NULL ? NULL : &slab[s->self.slot];
}

int nest__proxied_open(const nest_session *s, const struct nest__arrival *arrival) {
    struct nest__header *slab = nest__slab(&proxied_slab, sizeof *slab);
    if (arrival->headed) {
        return 0;
    }
    if (slab == NULL) {
        return arrival->proxied || arrival->from != NULL ? -ENOMEM : 0;
    }
    struct nest__header *header = &slab[s->self.slot];
    header->from = NEST__HEADER_OWN;
    header->n = 0;
    header->skip = 0;
    if (arrival->from != NULL) {
        memcpy(header->bytes, arrival->from->bytes, sizeof arrival->from->bytes);
        header->port = arrival->from->port;
        header->from = NEST__HEADER_INET;
    }
    return 0;
}

int nest__proxied_take(const nest_session *s, struct nest__window *window) {
    uint32_t used;
    int verdict = nest__header_take(proxied_header(s), window->p, window->n, &used);
    window->p += used;
    window->n -= used;
    return verdict;
}

bool nest__proxied_begun(const nest_session *s) {
    return proxied_header(s)->n > 0;
}

void nest__proxied_say(const nest_session *s, const char *what) {
    char peer[NEST__ADDRESS_TEXT];
    uint64_t now = nest__clock_coarse_ms(), said = atomic_load(&proxied_said);
    if ((said != 0 && now - said < PROXIED_SAY_MS) ||
        !atomic_compare_exchange_strong(&proxied_said, &said, now)) {
        atomic_fetch_add(&proxied_unsaid, 1);
        return;
    }
    uint64_t unsaid = atomic_exchange(&proxied_unsaid, 0);
    nest__peer_text(&s->c0, peer, sizeof peer);
    if (unsaid > 0) {
        nest__say(
            "the connection from %s is closed: its PROXY header %s; so were %llu others since "
            "the last message",
            peer, what, (unsigned long long)unsaid);
    } else {
        nest__say("the connection from %s is closed: its PROXY header %s", peer, what);
    }
}

bool nest__proxied_text(const nest_session *s, char *to, size_t size) {
    const struct nest__header *header = proxied_header(s);
    if (header == NULL || header->from == NEST__HEADER_OWN) {
        return false;
    }
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(header->port)};
    struct sockaddr local = {.sa_family = AF_UNIX};
    memcpy(&six.sin6_addr, header->bytes, sizeof six.sin6_addr);
    nest__address_text(
        header->from == NEST__HEADER_UNIX ? &local : (const struct sockaddr *)(const void *)&six,
        to, size);
    return true;
}

int nest__proxied_bytes(const nest_session *s, uint8_t to[16]) {
    const struct nest__header *header = proxied_header(s);
    if (header == NULL || header->from == NEST__HEADER_OWN) {
        return -ENOENT;
    }
    memcpy(to, header->bytes, 16);
    return header->from == NEST__HEADER_INET;
}

struct nest__need nest__proxied_need(void) {
    return (struct nest__need){"the header of its proxy", NULL, sizeof(struct nest__header),
                               sizeof(struct nest__header)};
}
