/* The PROXY protocol. header.h has the interface.
 * Must not know: sockets, whom to trust. */
#define _GNU_SOURCE
#include "header.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static const char signature[12] = {'\r', '\n', '\r', '\n', 0, '\r', '\n', 'Q', 'U', 'I', 'T', '\n'};

/* The next word of a line. Returns its length, 0 if there is none or it does not fit into `out`. */
static size_t word(const char **at, char *out, size_t room) {
    size_t n = strcspn(*at, " ");
    if (n == 0 || n >= room)
        return 0;
    memcpy(out, *at, n);
    out[n] = '\0';
    *at += n + ((*at)[n] == ' ');
    return n;
}

static long port_of(const char *text) {
    long port = 0;
    if (*text == '\0' || strlen(text) > 5)
        return -1;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return -1;
        port = port * 10 + (*text - '0');
    }
    return port <= 65535 ? port : -1;
}

/* An IPv4 address inside an IPv6 one, ::ffff:a.b.c.d, is an IPv4 address. */
static struct ccf_address plain(struct ccf_address address) {
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    struct ccf_address v4 = {.family = 4, .port = address.port};
    if (address.family != 6 || memcmp(address.bytes, mapped, sizeof mapped) != 0)
        return address;
    memcpy(v4.bytes, address.bytes + sizeof mapped, 4);
    return v4;
}

/* PROXY TCP4|TCP6 SOURCE DESTINATION PORT PORT */
static int read_line(const char *bytes, size_t n, struct ccf_address *from) {
    char line[108], family[8], source[48], destination[48], port[8], other[8];
    const char *end = memmem(bytes, n < sizeof line ? n : sizeof line, "\r\n", 2);
    if (end == NULL)
        return n >= sizeof line ? -1 : 0;
    size_t size = (size_t)(end - bytes);
    memcpy(line, bytes, size);
    line[size] = '\0';
    if (strlen(line) != size)
        return -1;
    const char *at = line + 6;
    if (word(&at, family, sizeof family) == 0)
        return -1;
    if (strcmp(family, "UNKNOWN") == 0)
        return (int)size + 2;
    int v4 = strcmp(family, "TCP4") == 0;
    if ((!v4 && strcmp(family, "TCP6") != 0) || !word(&at, source, sizeof source) ||
        !word(&at, destination, sizeof destination) || !word(&at, port, sizeof port) ||
        !word(&at, other, sizeof other) || *at != '\0')
        return -1;
    struct ccf_address found = {.family = v4 ? 4 : 6};
    uint8_t ignored[16];
    if (inet_pton(v4 ? AF_INET : AF_INET6, source, found.bytes) != 1 ||
        inet_pton(v4 ? AF_INET : AF_INET6, destination, ignored) != 1 || port_of(port) < 0 ||
        port_of(other) < 0)
        return -1;
    found.port = (uint16_t)port_of(port);
    *from = plain(found);
    return (int)size + 2;
}

static int read_block(const char *bytes, size_t n, struct ccf_address *from) {
    const uint8_t *b = (const uint8_t *)bytes;
    if (n < 16)
        return 0;
    size_t length = (size_t)b[14] << 8 | b[15];
    int command = b[12] & 15, family = b[13] >> 4;
    if (b[12] >> 4 != 2 || command > 1 || family > 3 || length > HEADER_MOST - 16)
        return -1;
    if (n < 16 + length)
        return 0;
    if (command == 0 || family == 0 || family == 3)
        return 16 + (int)length; /* a check of the proxy's own, or not of the Internet */
    size_t size = family == 1 ? 4 : 16;
    if (length < 2 * size + 4 || (b[13] & 15) != 1)
        return -1;
    struct ccf_address found = {.family = family == 1 ? 4 : 6};
    memcpy(found.bytes, b + 16, size);
    found.port = (uint16_t)(b[16 + 2 * size] << 8 | b[17 + 2 * size]);
    *from = plain(found);
    return 16 + (int)length;
}

int header_read(const char *bytes, size_t n, struct ccf_address *from) {
    if (memcmp(bytes, signature, n < 12 ? n : 12) == 0)
        return n < 12 ? 0 : read_block(bytes, n, from);
    if (memcmp(bytes, "PROXY ", n < 6 ? n : 6) == 0)
        return n < 6 ? 0 : read_line(bytes, n, from);
    return -1;
}

size_t header_write(int version, const struct ccf_address *from, const struct ccf_address *to,
                    char out[HEADER_MOST]) {
    bool known = from->family != 0 && from->family == to->family;
    size_t size = from->family == 4 ? 4 : 16;
    if (version == 2) {
        memcpy(out, signature, 12);
        out[12] = known ? 0x21 : 0x20;
        out[13] = (char)(!known ? 0 : from->family == 4 ? 0x11 : 0x21);
        size_t length = known ? 2 * size + 4 : 0;
        out[14] = 0;
        out[15] = (char)length;
        if (!known)
            return 16;
        memcpy(out + 16, from->bytes, size);
        memcpy(out + 16 + size, to->bytes, size);
        char *ports = out + 16 + 2 * size;
        ports[0] = (char)(from->port >> 8);
        ports[1] = (char)from->port;
        ports[2] = (char)(to->port >> 8);
        ports[3] = (char)to->port;
        return 16 + length;
    }
    if (!known)
        return (size_t)snprintf(out, HEADER_MOST, "PROXY UNKNOWN\r\n");
    char source[48], destination[48];
    int domain = from->family == 4 ? AF_INET : AF_INET6;
    inet_ntop(domain, from->bytes, source, sizeof source);
    inet_ntop(domain, to->bytes, destination, sizeof destination);
    return (size_t)snprintf(out, HEADER_MOST, "PROXY TCP%c %s %s %u %u\r\n",
                            from->family == 4 ? '4' : '6', source, destination, from->port,
                            to->port);
}
