/* address.c: parses the addresses that actions dial; see address.h.
 *
 * Called by dial.c and resolve.c. No state. */
#include "address.h"
#include "../../listener/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

static int address_port(const char *text, uint16_t *port) {
    size_t n = strspn(text, "0123456789");
    unsigned value = 0;
    if (n == 0 || n > 5 || text[n] != '\0') {
        return -EINVAL;
    }
    while (*text != '\0') {
        value = value * 10 + (unsigned)(*text++ - '0');
    }
    *port = (uint16_t)value;
    return value >= 1 && value <= 65535 ? 0 : -EINVAL;
}

static int address_local(const char *path, struct nest__dial_address *address) {
    struct sockaddr_un *local = &address->socket.local;
    if (path[0] != '/' || strlen(path) >= sizeof local->sun_path) {
        return -EINVAL;
    }
    local->sun_family = AF_UNIX;
    nest_strlcpy(local->sun_path, path, sizeof local->sun_path);
    address->length = sizeof *local;
    address->kind = NEST__UNIX;
    return 0;
}

void nest__dial_port(struct nest__dial_address *address, uint16_t port) {
    if (address->kind == NEST__TCP4) {
        address->socket.four.sin_port = htons(port);
    } else {
        address->socket.six.sin6_port = htons(port);
    }
}

/* 1: the host is a number; 0: it is a name; -EINVAL: neither can stand there. */
static int address_number(const char *host, bool brackets, struct nest__dial_address *address,
                          const char **why) {
    if (brackets) {
        if (nest__endpoint_six(host, &address->socket.six, why) < 0) {
            return -EINVAL;
        }
        address->socket.six.sin6_family = AF_INET6;
        address->length = sizeof address->socket.six;
        address->kind = NEST__TCP6;
        return 1;
    }
    if (inet_pton(AF_INET, host, &address->socket.four.sin_addr) != 1) {
        return 0;
    }
    address->socket.four.sin_family = AF_INET;
    address->length = sizeof address->socket.four;
    address->kind = NEST__TCP4;
    return 1;
}

int nest__dial_parse(const char *text, char host[NEST__DIAL_HOST], uint16_t *port,
                     struct nest__dial_address *address, unsigned *count, const char **why) {
    memset(address, 0, sizeof *address);
    *count = 1;
    *why = NULL;
    if (text == NULL) {
        return -EINVAL;
    }
    if (strncmp(text, "unix:", 5) == 0) {
        return address_local(text + 5, address);
    }
    const char *colon = strrchr(text, ':');
    bool brackets = text[0] == '[';
    if (colon == NULL || address_port(colon + 1, port) < 0) {
        return -EINVAL;
    }
    size_t length = (size_t)(colon - text);
    if (brackets && (length < 3 || text[length - 1] != ']')) {
        return -EINVAL;
    }
    text += brackets;
    length -= brackets ? 2 : 0;
    if (length == 0 || length >= NEST__DIAL_HOST || memchr(text, brackets ? ']' : ':', length)) {
        return -EINVAL; /* an address of IPv6 needs brackets */
    }
    memcpy(host, text, length);
    host[length] = '\0';
    int number = address_number(host, brackets, address, why);
    *count = number > 0;
    if (number > 0) {
        nest__dial_port(address, *port);
    }
    return number < 0 ? number : 0;
}

void nest__dial_alternate(struct nest__dial_address all[], unsigned count) {
    for (unsigned i = 1; i + 1 < count; i++) {
        unsigned other = i;
        while (other < count && all[other].kind == all[i - 1].kind) {
            other++;
        }
        if (other == count) {
            return; /* only one family is left */
        }
        struct nest__dial_address next = all[other];
        memmove(&all[i + 1], &all[i], (other - i) * sizeof all[0]);
        all[i] = next;
    }
}
