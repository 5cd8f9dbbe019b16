/* HTTP/1 requests, as far as filters need them: where one ends, what its head says.
 * Must not know: sockets, what is done with a request. */
#ifndef CCFHTTP_H
#define CCFHTTP_H

#include "ccfpack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A request's head. Offsets are from its first byte. */
struct ccf_http {
    const char *error;          /* what is wrong with it, or NULL */
    size_t size;                /* of the head with its empty line */
    size_t start;               /* of the request line: an empty line before it is ignored */
    size_t method;              /* length of the method, which begins at `start` */
    size_t target, target_size; /* of the request line */
    int minor;                  /* HTTP/1.minor */
    size_t headers, longest;    /* header lines; length of the longest line */
    unsigned hosts;             /* Host headers */
    int64_t length;             /* Content-Length, or -1 */
    bool chunked, keep, upgrade, expects;
    bool bare; /* a line ends in LF alone */
};

/* Reads a head. Returns 1 if it is whole and well formed, 0 if it is not whole yet, -1 with `error`
 * set if its end cannot be known with certainty. */
int ccf_http_head(const char *bytes, size_t n, struct ccf_http *http);

/* Copies a head of `size` bytes without headers that ask for 100 Continue. Returns the length. */
size_t ccf_http_told(const char *head, size_t size, char *to);

/* Limits of the framer: of a head, of a body. */
extern long ccf_http_most_head, ccf_http_most_body;
extern const struct ccf_framer ccf_http_framer;

/* Answers to requests that are refused. */
#define CCF_HTTP_ANSWER(status)                                                                    \
    "HTTP/1.1 " status "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

#ifdef __cplusplus
}
#endif

#endif
