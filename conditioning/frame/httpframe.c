/* The framer of HTTP/1: finds the end of a request's head and of its body, chunked or not.
 * Must not know: sockets. */
#include "ccfhttp.h"

#include <string.h>

long ccf_http_most_head = 16384, ccf_http_most_body = 1048576;

enum phase { HEAD, BODY, SIZE, EXTENSION, DATA, DATA_END, TRAILER };
enum { RETURNED = 0x1000 }; /* flag in `line`: the last byte was CR, so LF must follow */

static enum ccf_need refuse(struct ccf_frame *frame, const char *reason, const char *answer) {
    frame->reason = reason;
    frame->answer = answer;
    return CCF_BAD;
}

static enum ccf_need malformed(struct ccf_frame *frame) {
    return refuse(frame, "malformed", CCF_HTTP_ANSWER("400 Bad Request"));
}

static enum ccf_need too_large(struct ccf_frame *frame) {
    return refuse(frame, "body too large", CCF_HTTP_ANSWER("413 Content Too Large"));
}

/* Reads one byte of a chunked body. `line` counts the bytes of the current line, `left` those that
 * the chunk still needs, `total` those of all chunks. */
static enum ccf_need chunks(struct ccf_frame *frame, char c) {
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    switch (frame->phase) {
    case SIZE:
        if (digit >= 0 && frame->line++ < 8) {
            frame->left = frame->left * 16 + (unsigned)digit;
            break;
        }
        if (frame->line == 0 || digit >= 0 || (c != ';' && c != '\r'))
            return malformed(frame);
        frame->phase = EXTENSION;
        /* fall through */
    case EXTENSION:
        if (!(frame->line & RETURNED)) {
            if (c == '\n' || ++frame->line > 256)
                return malformed(frame);
            frame->line |= c == '\r' ? RETURNED : 0;
            break;
        }
        if (c != '\n')
            return malformed(frame);
        frame->total += frame->left;
        if (frame->total > (uint64_t)ccf_http_most_body)
            return too_large(frame);
        frame->phase = frame->left > 0 ? DATA : TRAILER;
        frame->line = 0;
        break;
    case DATA_END:
        if (c != "\r\n"[frame->line])
            return malformed(frame);
        if (++frame->line == 2) {
            frame->line = 0;
            frame->phase = SIZE;
        }
        break;
    default: /* TRAILER: its bytes count towards `total`, which limits it */
        if (c == '\n' && frame->line == 0)
            return CCF_WHOLE;
        if (++frame->total > (uint64_t)ccf_http_most_body)
            return too_large(frame);
        if (c == '\n')
            frame->line = 0;
        else if (c != '\r')
            frame->line++;
    }
    return CCF_MORE;
}

static enum ccf_need head(struct ccf_frame *frame, const char *bytes, size_t n) {
    struct ccf_http http;
    /* Without another end of a line, the head cannot be complete yet. */
    if (memchr(bytes + frame->fed, '\n', n - frame->fed) == NULL) {
        frame->fed = n;
    } else {
        int got = ccf_http_head(bytes, n, &http);
        frame->fed = n;
        if (got < 0)
            return malformed(frame);
        if (got > 0) {
            if (http.size > (size_t)ccf_http_most_head)
                return refuse(frame, "head too large",
                              CCF_HTTP_ANSWER("431 Request Header Fields Too Large"));
            frame->fed = http.size;
            frame->expects = http.expects;
            frame->body = true;
            frame->phase = http.chunked ? SIZE : BODY;
            frame->left = http.length > 0 ? (uint64_t)http.length : 0;
            if (frame->left > (uint64_t)ccf_http_most_body)
                return too_large(frame);
            if (http.chunked)
                return CCF_MORE;
            return frame->left == 0 ? CCF_WHOLE : CCF_MORE;
        }
    }
    if (n > (size_t)ccf_http_most_head)
        return refuse(frame, "head too large",
                      CCF_HTTP_ANSWER("431 Request Header Fields Too Large"));
    return CCF_MORE;
}

static enum ccf_need feed(struct ccf_frame *frame, const char *bytes, size_t n) {
    if (frame->phase == HEAD) {
        enum ccf_need need = head(frame, bytes, n);
        if (need != CCF_MORE || frame->phase == HEAD)
            return need;
    }
    while (frame->fed < n) {
        size_t have = n - frame->fed;
        if (frame->phase == BODY || frame->phase == DATA) {
            size_t size = have < frame->left ? have : (size_t)frame->left;
            frame->fed += size;
            frame->left -= size;
            if (frame->left > 0)
                return CCF_MORE;
            if (frame->phase == BODY)
                return CCF_WHOLE;
            frame->phase = DATA_END;
            continue;
        }
        enum ccf_need need = chunks(frame, bytes[frame->fed]);
        if (need == CCF_BAD)
            return need;
        frame->fed++;
        if (need == CCF_WHOLE)
            return need;
    }
    return CCF_MORE;
}

static size_t told(const char *bytes, size_t n, char *to, size_t *old) {
    struct ccf_http http;
    *old = ccf_http_head(bytes, n, &http) == 1 ? http.size : 0;
    return ccf_http_told(bytes, *old, to);
}

const struct ccf_framer ccf_http_framer = {
    .name = "http",
    .go_on = "HTTP/1.1 100 Continue\r\n\r\n",
    .overdue = CCF_HTTP_ANSWER("408 Request Timeout"),
    .crowded = CCF_HTTP_ANSWER("503 Service Unavailable"),
    .feed = feed,
    .told = told,
};
