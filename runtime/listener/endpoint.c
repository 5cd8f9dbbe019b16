/* endpoint.c: parses the addresses to listen on.
 *
 * Called by config to check them and by the listener to open them, and by the actions that dial.
 * No state; the only system calls are those that ask for the number of an interface. Host names are
 * not looked up, because their meaning can change between two starts. */
#include "endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

static int endpoint_refuse(char *reason, const char *text, const char *why) {
    snprintf(reason, NEST__ENDPOINT_REASON, "'%.100s' %s", text, why);
    return -EINVAL;
}

/* Parses a decimal port. Returns -1 if it is invalid. */
static int endpoint_port(const char *text) {
    size_t n = strspn(text, "0123456789");
    int port = 0;
    if (n == 0 || n > 5 || text[n] != '\0') {
        return -1;
    }
    while (*text != '\0') {
        port = port * 10 + (*text++ - '0');
    }
    return port <= 65535 ? port : -1;
}

static int endpoint_unix(const char *path, struct nest__endpoint *to, char *reason) {
    struct sockaddr_un *local = &to->socket.local;
    if (path[0] == '\0' || strlen(path) >= sizeof local->sun_path ||
        strlen(to->name) >= sizeof nest__listeners[0].name) {
        return endpoint_refuse(reason, to->name, "needs a path of 1 to 106 bytes after 'unix:'");
    }
    to->kind = NEST__UNIX;
    to->length = sizeof *local;
    local->sun_family = AF_UNIX;
    nest_strlcpy(local->sun_path, path, sizeof local->sun_path);
    return 0;
}

/* The number of an interface, which is given by its name or itself; 0: there is none. */
static uint32_t endpoint_zone(const char *text) {
    char name[IF_NAMESIZE];
    uint32_t number = if_nametoindex(text);
    size_t digits = strspn(text, "0123456789");
    if (number == 0 && digits > 0 && digits < 10 && text[digits] == '\0') {
        for (; *text != '\0'; text++) {
            number = number * 10 + (uint32_t)(*text - '0');
        }
        number = if_indextoname(number, name) == NULL ? 0 : number;
    }
    return number;
}

int nest__endpoint_six(const char *text, struct sockaddr_in6 *to, const char **why) {
    char host[INET6_ADDRSTRLEN];
    const char *zone = strchr(text, '%');
    size_t length = zone == NULL ? strlen(text) : (size_t)(zone - text);
    *why = NULL;
    if (length >= sizeof host) {
        return -EINVAL;
    }
    memcpy(host, text, length);
    host[length] = '\0';
    if (inet_pton(AF_INET6, host, &to->sin6_addr) != 1) {
        return -EINVAL;
    }
    bool link = IN6_IS_ADDR_LINKLOCAL(&to->sin6_addr);
    to->sin6_scope_id = zone == NULL || !link ? 0 : endpoint_zone(zone + 1);
    if (link && zone == NULL) {
        *why = "is that of a link: write the interface behind it, as in [fe80::1%eth0]:8080";
    } else if (zone != NULL && !link) {
        *why = "is not that of a link (fe80::/10), so no interface can follow it";
    } else if (link && to->sin6_scope_id == 0) {
        *why = "names an interface that this system does not have";
    }
    return *why == NULL ? 0 : -EINVAL;
}

int nest__endpoint_parse(const char *text, size_t n, struct nest__endpoint *to,
                         char reason[NEST__ENDPOINT_REASON]) {
    char host[sizeof to->name];
    memset(to, 0, sizeof *to);
    if (n >= sizeof to->name) {
        return endpoint_refuse(reason, text, "is too long for an address");
    }
    memcpy(to->name, text, n);
    if (strcmp(to->name, "systemd") == 0) {
        to->systemd = true;
        return 0;
    }
    if (strncmp(to->name, "unix:", 5) == 0) {
        return endpoint_unix(to->name + 5, to, reason);
    }
    const char *colon = strrchr(to->name, ':');
    int port = colon == NULL ? -1 : endpoint_port(colon + 1);
    if (port == -1) {
        return endpoint_refuse(reason, to->name,
                               "is not an address: write 127.0.0.1:8080, [::1]:8080, *:8080, "
                               "unix:/path or systemd, with a port of 0 to 65535");
    }
    nest_strlcpy(host, to->name, (size_t)(colon - to->name) + 1);
    size_t length = strlen(host);
    if (strcmp(host, "*") == 0) {
        to->everywhere = true;
        to->socket.six.sin6_addr = in6addr_any;
    } else if (length > 2 && host[0] == '[' && host[length - 1] == ']') {
        host[length - 1] = '\0';
        const char *why;
        if (nest__endpoint_six(host + 1, &to->socket.six, &why) < 0) {
            return endpoint_refuse(reason, to->name,
                                   why == NULL ? "has no IPv6 address between the brackets" : why);
        }
    } else if (inet_pton(AF_INET, host, &to->socket.four.sin_addr) == 1) {
        to->kind = NEST__TCP4;
        to->length = sizeof to->socket.four;
        to->socket.four.sin_family = AF_INET;
        to->socket.four.sin_port = htons((uint16_t)port);
        return 0;
    } else {
        return endpoint_refuse(reason, to->name,
                               "is not a numeric address, and names are not looked up; write "
                               "127.0.0.1:8080, [::1]:8080, *:8080 or unix:/path");
    }
    to->kind = NEST__TCP6;
    to->length = sizeof to->socket.six;
    to->socket.six.sin6_family = AF_INET6;
    to->socket.six.sin6_port = htons((uint16_t)port);
    return 0;
}

/* A word about the address before it, "proxy" or "tls"; both may follow it. Returns 1; 0: it is
 * neither; -EINVAL and the reason. */
static int endpoint_word(const char *text, size_t n, struct nest__endpoint *address, char *reason) {
    bool proxied = n == 5 && memcmp(text, "proxy", n) == 0;
    bool encrypted = n == 3 && memcmp(text, "tls", n) == 0;
    const char *word = proxied ? "proxy" : "tls", *wrong = NULL;
    if (!proxied && !encrypted) {
        return 0;
    }
    if (proxied && !NEST__PROXIED) {
        wrong = "needs a server that can read the header of a proxy: write the word behind an "
                "address in its specification, as in %option listen *:8080 proxy";
    } else if (encrypted && !NEST__TLS) {
        wrong = "needs a server that can encrypt: write %option tls CERT KEY in its specification, "
                "or build it with nest build --tls";
    } else if (address == NULL || (proxied ? address->proxied : address->encrypted)) {
        wrong = "must follow an address, once";
    }
    if (wrong != NULL) {
        return endpoint_refuse(reason, word, wrong);
    }
    address->proxied = address->proxied || proxied;
    address->encrypted = address->encrypted || encrypted;
    return 1;
}

int nest__endpoints(const char *list, uint32_t port, struct nest__endpoint to[NEST__LISTEN_MAX],
                    char reason[NEST__ENDPOINT_REASON]) {
    const char *text = list;
    int count = 0;
    if (text == NULL || text[0] == '\0') {
        char everywhere[16];
        int n = snprintf(everywhere, sizeof everywhere, "*:%u", (unsigned)port);
        int error = nest__endpoint_parse(everywhere, (size_t)n, &to[0], reason);
        return error == 0 ? 1 : error;
    }
    for (text += strspn(text, " \t"); *text != '\0'; text += strspn(text, " \t")) {
        size_t n = strcspn(text, " \t");
        int word = endpoint_word(text, n, count > 0 ? &to[count - 1] : NULL, reason);
        if (word < 0) {
            return word;
        }
        if (word == 1) {
            text += n;
            continue;
        }
        if (count == NEST__LISTEN_MAX) {
            return endpoint_refuse(reason, text, "is one address too many: the maximum is 16");
        }
        int error = nest__endpoint_parse(text, n, &to[count], reason);
        if (error != 0) {
            return error;
        }
        for (int i = 0; i < count; i++) {
            if (to[i].systemd && to[count].systemd) {
                return endpoint_refuse(reason, "systemd",
                                       "is given twice; once means all its sockets");
            }
        }
        count++;
        text += n;
    }
    if (count == 0) {
        return endpoint_refuse(reason, "", "names no address");
    }
    return count;
}
