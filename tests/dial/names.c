/* names.c: a resolver of two names, in place of the system's: looking up "never" never ends, and
 * "several" has the addresses 127.0.0.9 and 127.0.0.1, in this order. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    while (node != NULL && strcmp(node, "never") == 0) {
        pause();
    }
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (node == NULL || strcmp(node, "several") != 0) {
        return real(node, service, hints, found);
    }
    int error = real("127.0.0.9", service, hints, found);
    return error != 0 ? error : real("127.0.0.1", service, hints, &(*found)->ai_next);
}
