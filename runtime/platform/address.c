/* address.c: socket addresses as text.
 *
 * Called by the listener, the channels and the crash report. It must be async-signal-safe and
 * therefore does not use inet_ntop. No state. */
#include "platform.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static void address_four(struct nest__line *line, const uint8_t *bytes) {
    for (int i = 0; i < 4; i++) {
        if (i > 0) {
            nest__line_char(line, '.');
        }
        nest__line_number(line, bytes[i]);
    }
}

static void address_hex(struct nest__line *line, unsigned group) {
    bool begun = false;
    for (int shift = 12; shift >= 0; shift -= 4) {
        unsigned digit = group >> shift & 15;
        begun = begun || digit != 0 || shift == 0;
        if (begun) {
            nest__line_char(line, "0123456789abcdef"[digit]);
        }
    }
}

/* RFC 5952: lower case, no leading zeros, and "::" for the first longest run of at least two zero
 * groups. */
static void address_six(struct nest__line *line, const uint8_t *bytes) {
    unsigned groups[8];
    int gap = -1, length = 1;
    for (int i = 0; i < 8; i++) {
        groups[i] = (unsigned)bytes[2 * i] << 8 | bytes[2 * i + 1];
    }
    for (int i = 0; i < 8; i++) {
        int end = i;
        while (end < 8 && groups[end] == 0) {
            end++;
        }
        if (end - i > length) {
            gap = i;
            length = end - i;
        }
    }
    for (int i = 0; i < 8; i++) {
        if (i == gap) {
            nest__line_add(line, "::");
            i += length - 1;
            continue;
        }
        if (i > 0 && i != gap + length) {
            nest__line_char(line, ':');
        }
        address_hex(line, groups[i]);
    }
}

void nest__address_text(const struct sockaddr *address, char *to, size_t size) {
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct nest__line line = {to, 0, size - 1};
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;
        address_four(&line, (const uint8_t *)&four->sin_addr);
        nest__line_char(&line, ':');
        nest__line_number(&line, ntohs(four->sin_port));
    } else if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
        const uint8_t *bytes = (const uint8_t *)&six->sin6_addr;
        if (memcmp(bytes, mapped, sizeof mapped) == 0) { /* an IPv4 client on a dual-stack socket */
            address_four(&line, bytes + sizeof mapped);
        } else {
            nest__line_char(&line, '[');
            address_six(&line, bytes);
            if (six->sin6_scope_id != 0) {
                nest__line_char(&line, '%');
                nest__line_number(&line, six->sin6_scope_id);
            }
            nest__line_char(&line, ']');
        }
        nest__line_char(&line, ':');
        nest__line_number(&line, ntohs(six->sin6_port));
    } else {
        nest__line_add(&line, "unix");
    }
    to[line.n] = '\0';
}
