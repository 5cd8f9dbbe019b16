/* Heads of HTTP/1 requests. ccfhttp.h has the interface; RFC 9112 has the grammar.
 *
 * What makes the end of a request uncertain is an error, since a server might see another end and
 * take a part of the body for a request of its own. */
#define _GNU_SOURCE
#include "ccfhttp.h"

#include <string.h>
#include <strings.h>

static bool is_token(unsigned char c) {
    return c > ' ' && c < 0x7f && strchr("\"(),/:;<=>?@[\\]{}", c) == NULL;
}

static size_t token(const char *p, size_t n) {
    size_t i = 0;
    while (i < n && is_token((unsigned char)p[i]))
        i++;
    return i;
}

static int bad(struct ccf_http *http, const char *error) {
    http->error = error;
    return -1;
}

/* METHOD SP TARGET SP HTTP/1.x, at `start` */
static int request_line(const char *p, size_t n, struct ccf_http *http) {
    http->method = token(p, n);
    if (http->method == 0 || http->method == n || p[http->method] != ' ')
        return bad(http, "malformed method");
    http->target = http->method + 1;
    size_t end = http->target;
    while (end < n && (unsigned char)p[end] > ' ' && p[end] != 0x7f)
        end++;
    http->target_size = end - http->target;
    if (http->target_size == 0 || n - end != 9 || memcmp(p + end, " HTTP/1.", 8) != 0)
        return bad(http, "malformed request line");
    http->minor = p[end + 8] - '0';
    if (http->minor < 0 || http->minor > 1)
        return bad(http, "unknown version");
    http->keep = http->minor == 1;
    http->target += http->start;
    return 0;
}

static bool is(const char *name, size_t n, const char *want) {
    return strlen(want) == n && strncasecmp(name, want, n) == 0;
}

/* Whether a list of words, separated by commas, has a word. */
static bool lists(const char *value, size_t n, const char *word) {
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && value[end] != ',')
            end++;
        size_t last = end;
        while (i < last && (value[i] == ' ' || value[i] == '\t'))
            i++;
        while (last > i && (value[last - 1] == ' ' || value[last - 1] == '\t'))
            last--;
        if (is(value + i, last - i, word))
            return true;
        i = end + 1;
    }
    return false;
}

static int content_length(const char *value, size_t n, struct ccf_http *http) {
    int64_t length = 0;
    if (n == 0 || n > 18)
        return bad(http, "malformed length");
    for (size_t i = 0; i < n; i++) {
        if (value[i] < '0' || value[i] > '9')
            return bad(http, "malformed length");
        length = length * 10 + (value[i] - '0');
    }
    if (http->length >= 0)
        return bad(http, "two lengths");
    http->length = length;
    return 0;
}

/* NAME ":" VALUE */
static int header(const char *p, size_t n, struct ccf_http *http) {
    size_t name = token(p, n);
    if (name == 0 || name == n || p[name] != ':')
        return bad(http, "malformed header");
    const char *value = p + name + 1;
    size_t size = n - name - 1;
    for (size_t i = 0; i < size; i++)
        if (((unsigned char)value[i] < ' ' && value[i] != '\t') || value[i] == 0x7f)
            return bad(http, "malformed header");
    while (size > 0 && (*value == ' ' || *value == '\t')) {
        value++;
        size--;
    }
    while (size > 0 && (value[size - 1] == ' ' || value[size - 1] == '\t'))
        size--;
    http->headers++;
    http->hosts += is(p, name, "host");
    if (is(p, name, "content-length"))
        return content_length(value, size, http);
    if (is(p, name, "transfer-encoding")) {
        if (http->chunked || !is(value, size, "chunked"))
            return bad(http, "unknown transfer encoding");
        http->chunked = true;
    }
    if (is(p, name, "connection")) {
        if (lists(value, size, "close"))
            http->keep = false;
        else if (http->minor == 0 && lists(value, size, "keep-alive"))
            http->keep = true;
    }
    http->upgrade |= is(p, name, "upgrade");
    /* A client of HTTP/1.0 cannot be told. */
    http->expects |= http->minor == 1 && is(p, name, "expect") && is(value, size, "100-continue");
    return 0;
}

int ccf_http_head(const char *bytes, size_t n, struct ccf_http *http) {
    *http = (struct ccf_http){.length = -1};
    for (size_t line = 0; line < n;) {
        const char *newline = memchr(bytes + line, '\n', n - line);
        if (newline == NULL)
            return 0;
        size_t end = (size_t)(newline - bytes), next = end + 1;
        if (end > line && bytes[end - 1] == '\r')
            end--;
        else
            http->bare = true;
        size_t size = end - line;
        if (size > http->longest)
            http->longest = size;
        if (size == 0 && line == 0) {
            /* RFC 9112, 2.2: some clients end the request before with one line too many. */
            http->start = line = next;
            continue;
        }
        if (size == 0 && line > http->start) {
            http->size = next;
            break;
        }
        int error = line == http->start ? request_line(bytes + line, size, http)
                                        : header(bytes + line, size, http);
        if (error != 0)
            return error;
        line = next;
    }
    if (http->size == 0)
        return 0;
    if (http->chunked && (http->length >= 0 || http->minor == 0))
        return bad(http, "length and chunks");
    return 1;
}

/* Whether a line with its end is a header that asks for 100 Continue. */
static bool asks(const char *p, size_t n) {
    struct ccf_http one = {.length = -1, .minor = 1};
    while (n > 0 && (p[n - 1] == '\n' || p[n - 1] == '\r'))
        n--;
    return header(p, n, &one) == 0 && one.expects;
}

size_t ccf_http_told(const char *head, size_t size, char *to) {
    size_t length = 0;
    for (size_t line = 0, next; line < size; line = next) {
        const char *newline = memchr(head + line, '\n', size - line);
        next = newline != NULL ? (size_t)(newline - head) + 1 : size;
        if (asks(head + line, next - line))
            continue;
        memcpy(to + length, head + line, next - line);
        length += next - line;
    }
    return length;
}
