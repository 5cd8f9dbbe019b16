/* Paths of requests. path.h has the interface.
 * Must not know: where a path comes from. */
#define _GNU_SOURCE
#include "path.h"

#include <string.h>
#include <strings.h>

bool path_in(const char *target, size_t size, size_t *start, size_t *length) {
    size_t at = 0;
    const char *authority = size > 7 && strncasecmp(target, "http://", 7) == 0 ? target + 7 : NULL;
    if (authority != NULL) {
        const char *slash = memchr(authority, '/', size - 7);
        if (slash == NULL)
            return false;
        at = (size_t)(slash - target);
    }
    if (size == 0 || target[at] != '/')
        return false;
    const char *query = memchr(target + at, '?', size - at);
    *start = at;
    *length = (query != NULL ? (size_t)(query - target) : size) - at;
    return true;
}

/* Decodes one character, which may be escaped, such as "%2e". Returns its value; *used: its length
 * in bytes. */
static int character(const char *p, size_t n, size_t *used) {
    *used = 1;
    if (*p != '%')
        return (unsigned char)*p;
    int value = 0;
    for (size_t i = 1; i < 3; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = i < n && p[i] != '\0' ? strchr(digits, p[i] | 0x20) : NULL;
        if (digit == NULL)
            return '%';
        value = value * 16 + (int)(digit - digits);
    }
    *used = 3;
    return value;
}

const char *path_suspicious(const char *path, size_t size) {
    long depth = 0;
    for (size_t at = 0; at < size;) {
        size_t dots = 0, others = 0, used;
        while (at < size && path[at] == '/')
            at++;
        while (at < size && path[at] != '/') {
            int c = character(path + at, size - at, &used);
            if (c == '\\' || c == 0)
                return "suspicious path";
            if (c == '/' && used == 3)
                break; /* an encoded slash ends a part for many servers */
            dots += c == '.';
            others += c != '.';
            at += used;
        }
        if (others == 0 && dots == 2)
            depth--;
        else if (others > 0 || dots > 2)
            depth++;
        if (depth < 0)
            return "suspicious path";
        if (at < size && path[at] != '/')
            at += 3;
    }
    return NULL;
}

size_t path_slashes(const char *path, size_t size) {
    size_t most = 0, run = 0;
    for (size_t i = 0; i < size; i++) {
        run = path[i] == '/' ? run + 1 : 0;
        if (run > most)
            most = run;
    }
    return most;
}

size_t path_simplify(const char *path, size_t size, long strip, bool fold, char *to) {
    size_t at = 0, length = 0;
    for (; strip > 0 && at < size; strip--) {
        while (at < size && path[at] == '/')
            at++;
        while (at < size && path[at] != '/')
            at++;
    }
    for (; at < size; at++)
        if (!fold || path[at] != '/' || length == 0 || to[length - 1] != '/')
            to[length++] = path[at];
    if (length == 0)
        to[length++] = '/';
    return length;
}
