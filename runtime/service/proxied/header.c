/* header.c: parses the header of the PROXY protocol byte by byte.
 *
 * Called by proxied.c. No state, no system calls. A byte that cannot belong to a header is found
 * when it arrives. Must not know connections. */
#include "header.h"
#include "proxied.h"

#include <arpa/inet.h>
#include <string.h>

static const uint8_t header_signature[12] = {'\r', '\n', '\r', '\n', 0,   '\r',
                                             '\n', 'Q',  'U',  'I',  'T', '\n'};
static const char header_word[6] = {'P', 'R', 'O', 'X', 'Y', ' '};
static const uint8_t header_mapped[12] = {[10] = 0xff, [11] = 0xff};

/* -- version 1: PROXY TCP4|TCP6 SOURCE DESTINATION PORT PORT */

/* The next word of the line at *at, which ends at `end`, without its blank. False: there is none,
 * or it has no room. */
static bool header_next(const char **at, const char *end, char *to, size_t room) {
    const char *blank = memchr(*at, ' ', (size_t)(end - *at));
    size_t n = (size_t)((blank == NULL ? end : blank) - *at);
    if (n == 0 || n >= room) {
        return false;
    }
    memcpy(to, *at, n);
    to[n] = '\0';
    *at += n;
    if (blank != NULL) {
        *at = blank + 1;
        return *at != end;
    }
    return true;
}

static bool header_port(const char *text, uint16_t *port) {
    uint32_t value = 0;
    if (text[0] == '0' && text[1] != '\0') {
        return false;
    }
    for (; *text >= '0' && *text <= '9'; text++) {
        value = value * 10 + (uint32_t)(*text - '0');
    }
    *port = (uint16_t)value;
    return *text == '\0' && value <= UINT16_MAX;
}

static int header_line(struct nest__header *h) {
    const char *at = (const char *)h->bytes + sizeof header_word;
    const char *end = (const char *)h->bytes + h->n - 2;
    char family[8], source[INET6_ADDRSTRLEN], destination[INET6_ADDRSTRLEN], port[6], other[6];
    uint8_t from[16], to[16];
    uint16_t unused;
    if (end - at >= 7 && memcmp(at, "UNKNOWN", 7) == 0 && (end - at == 7 || at[7] == ' ')) {
        return NEST__HEADED_DONE;
    }
    if (!header_next(&at, end, family, sizeof family) ||
        !header_next(&at, end, source, sizeof source) ||
        !header_next(&at, end, destination, sizeof destination) ||
        !header_next(&at, end, port, sizeof port) || !header_next(&at, end, other, sizeof other) ||
        at != end || !header_port(port, &h->port) || !header_port(other, &unused)) {
        return NEST__HEADED_WRONG;
    }
    bool four = strcmp(family, "TCP4") == 0;
    int domain = four ? AF_INET : AF_INET6;
    memcpy(from, header_mapped, sizeof header_mapped);
    if ((!four && strcmp(family, "TCP6") != 0) ||
        inet_pton(domain, source, four ? from + sizeof header_mapped : from) != 1 ||
        inet_pton(domain, destination, to) != 1) {
        return NEST__HEADED_WRONG;
    }
    memcpy(h->bytes, from, sizeof from);
    h->from = NEST__HEADER_INET;
    return NEST__HEADED_DONE;
}

static int header_one(struct nest__header *h) {
    uint8_t last = h->bytes[h->n - 1], before = h->n > 1 ? h->bytes[h->n - 2] : 0;
    if (h->n <= sizeof header_word) {
        return last == header_word[h->n - 1] ? NEST__HEADED_MORE : NEST__HEADED_WRONG;
    }
    if (before == '\r') {
        return last == '\n' ? header_line(h) : NEST__HEADED_WRONG;
    }
    return (last != '\r' && (last < ' ' || last > '~')) || h->n == NEST__HEADER_MOST
               ? NEST__HEADED_WRONG
               : NEST__HEADED_MORE;
}

/* -- version 2: the signature, version and command, family, length, addresses, and more */

/* How long the addresses are that are needed. */
static uint32_t header_addresses(const struct nest__header *h) {
    bool local = h->bytes[12] == 0x20;
    return local ? 0 : h->bytes[13] == 0x11 ? 12 : h->bytes[13] == 0x21 ? 36 : 0;
}

/* The addresses are there. */
static void header_found(struct nest__header *h) {
    uint8_t from[16];
    uint32_t size = h->bytes[13] == 0x11 ? 4 : 16;
    const uint8_t *port = h->bytes + 16 + 2 * size;
    memcpy(from, header_mapped, sizeof header_mapped);
    memcpy(from + 16 - size, h->bytes + 16, size);
    h->port = (uint16_t)(port[0] << 8 | port[1]);
    memcpy(h->bytes, from, sizeof from);
    h->from = NEST__HEADER_INET;
}

static int header_two(struct nest__header *h) {
    uint8_t last = h->bytes[h->n - 1];
    bool fits = true;
    if (h->n <= sizeof header_signature) {
        fits = last == header_signature[h->n - 1];
    } else if (h->n == 13) {
        fits = last == 0x20 || last == 0x21; /* LOCAL, PROXY */
    } else if (h->n == 14) {                 /* datagrams do not come over a connection */
        fits = last == 0 || last == 0x11 || last == 0x21 || last == 0x31 || h->bytes[12] == 0x20;
    }
    if (!fits || h->n < 16) {
        return fits ? NEST__HEADED_MORE : NEST__HEADED_WRONG;
    }
    uint32_t length = (uint32_t)h->bytes[14] << 8 | h->bytes[15], need = header_addresses(h);
    bool local = h->bytes[12] == 0x20, path = !local && h->bytes[13] == 0x31;
    if (length < need || (path && length < 216)) {
        return NEST__HEADED_WRONG;
    }
    if (h->n < 16 + need) {
        return NEST__HEADED_MORE;
    }
    if (need > 0) {
        header_found(h);
    } else if (path) {
        h->from = NEST__HEADER_UNIX;
    }
    h->skip = (uint16_t)(length - need);
    return h->skip > 0 ? NEST__HEADED_MORE : NEST__HEADED_DONE;
}

int nest__header_take(struct nest__header *h, const uint8_t *p, uint32_t n, uint32_t *used) {
    int verdict = NEST__HEADED_MORE;
    *used = 0;
    while (*used < n && verdict == NEST__HEADED_MORE) {
        if (h->skip > 0) {
            uint32_t left = n - *used, step = left < h->skip ? left : h->skip;
            *used += step;
            h->skip = (uint16_t)(h->skip - step);
            verdict = h->skip == 0 ? NEST__HEADED_DONE : NEST__HEADED_MORE;
        } else {
            h->bytes[h->n++] = p[(*used)++];
            verdict = h->bytes[0] == '\r' ? header_two(h) : header_one(h);
        }
    }
    return verdict;
}
