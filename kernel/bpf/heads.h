/* Heads of HTTP: walks over the lines of a request or an answer that was copied into the scratch
 * buffer, eight bytes at a time.
 *
 * Must not know: sockets, and what is done with the result. */
#ifndef NEST_KERNEL_HEADS_H
#define NEST_KERNEL_HEADS_H

#include "types.h"

#define ONES 0x0101010101010101ULL
#define HIGH 0x8080808080808080ULL
#define FOLD 0x2020202020202020ULL

enum line {
    LINE_PLAIN,   /* does not change the answer */
    LINE_CHANGES, /* may change the answer */
    LINE_UNSURE,  /* something may follow the head, or the connection may end */
    LINE_HOST,
    LINE_KEEP,  /* Connection: keep-alive */
    LINE_CLOSE, /* Connection: close */
    LINE_NONE_MATCH,
    LINE_SINCE
};

struct walk {
    __u32 size;   /* bytes in the buffer */
    __u32 end;    /* behind the empty line; 0: not found yet */
    __u32 answer; /* walks over an answer of the server */
    __u32 worst;  /* enum line */
    __u32 hosts;
    __u32 host; /* where the value of Host begins */
    __u32 tags;
    __u32 tag; /* where the value of If-None-Match begins */
    __u32 sinces;
    __u32 since; /* where the value of If-Modified-Since begins */
    __u32 keeps;
    __u32 closes;
    __u32 sized;
    __u32 length; /* Content-Length of an answer */
};

/* Kept apart from the walk: the verifier forgets pointers in what is passed to a function by
 * address. */
struct walker {
    struct walk *walk;
    struct scratch *scratch;
};

INLINE __u64 word(const unsigned char *at) {
    return *(const __u64 *)at;
}

/* `text` as the eight bytes of a word in memory. */
#define WORD(a, b, c, d, e, f, g, h)                                                               \
    ((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 |       \
     (__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)
#define FIRST(n) (~0ULL >> (64 - 8 * (n)))

/* Whether the folded text begins with a constant name in lower case, of at most 32 bytes. */
INLINE int begins(const unsigned char *text, const char *name, __u32 size) {
    __u64 wanted;
    __u32 i, j;
    for (i = 0; i < size; i += 8) {
        wanted = 0;
        for (j = 0; j < 8 && i + j < size; j++)
            wanted |= (__u64)(unsigned char)name[i + j] << 8 * j;
        if (((word(text + i) | FOLD) & FIRST(j)) != wanted)
            return 0;
    }
    return 1;
}

#define BEGINS(name) begins(text, name, sizeof(name) - 1)

/* Judges the line of a request that begins at `at`. Only fields that are known to leave the answer
 * of a static file alone are LINE_PLAIN. The loader sends all of them when it asks the server as a
 * browser (BROWSER in kernel/src/fill.rs), and keeps no answer that they change. So no field
 * belongs here whose effect depends on its value, such as Origin, nor one that a server must ask
 * for first, such as Sec-CH-Width. */
NOINLINE int request_line(struct scratch *scratch, __u32 at) {
    unsigned char *text;
    if (!scratch || at >= HEAD_BYTES)
        return LINE_UNSURE;
    text = scratch->bytes + at;
    if (BEGINS("host: "))
        return LINE_HOST;
    if (BEGINS("user-agent:") || BEGINS("accept:") || BEGINS("accept-encoding:") ||
        BEGINS("accept-language:") || BEGINS("referer:") || BEGINS("dnt:") || BEGINS("sec-gpc:") ||
        BEGINS("save-data:") || BEGINS("priority:") || BEGINS("upgrade-insecure-requests:"))
        return LINE_PLAIN;
    if (BEGINS("sec-fetch-dest:") || BEGINS("sec-fetch-mode:") || BEGINS("sec-fetch-site:") ||
        BEGINS("sec-fetch-user:") || BEGINS("sec-fetch-storage-access:"))
        return LINE_PLAIN;
    if (BEGINS("sec-ch-ua:") || BEGINS("sec-ch-ua-mobile:") || BEGINS("sec-ch-ua-platform:"))
        return LINE_PLAIN;
    /* A browser reloads. The answer that is kept follows the file, so it has no age. With no-cache
     * a client insists on the server's own. */
    if (BEGINS("cache-control: max-age=0") && text[24] == '\r')
        return LINE_PLAIN;
    if (BEGINS("if-none-match: "))
        return LINE_NONE_MATCH;
    if (BEGINS("if-modified-since: "))
        return LINE_SINCE;
    if (BEGINS("connection: keep-alive") && text[22] == '\r')
        return LINE_KEEP;
    if (BEGINS("connection: ") && text[17] == '\r' &&
        ((word(text + 12) | FOLD) & FIRST(5)) == WORD('c', 'l', 'o', 's', 'e', 0, 0, 0))
        return LINE_CLOSE;
    if (BEGINS("connecti") || BEGINS("cont") || BEGINS("t") || BEGINS("ex") || BEGINS("up") ||
        BEGINS("proxy") || BEGINS("keep") || BEGINS("h") || text[0] < '0')
        return LINE_UNSURE;
    return LINE_CHANGES;
}

/* Reads the decimal number of at most nine digits at `at`; a greater one, or none, is ~0. */
NOINLINE __u32 decimal(struct scratch *scratch, __u32 at) {
    __u32 value = 0, i;
    if (!scratch || at >= HEAD_BYTES)
        return ~0U;
    for (i = 0; i < 10; i++) {
        unsigned char digit = scratch->bytes[at + i];
        if (digit == '\r')
            return i ? value : ~0U;
        if (digit < '0' || digit > '9')
            return ~0U;
        value = value * 10 + (digit - '0');
    }
    return ~0U;
}

/* Judges the line of an answer that begins at `at`; LINE_HOST stands for Content-Length. */
NOINLINE int answer_line(struct scratch *scratch, __u32 at) {
    unsigned char *text;
    __u64 a, b;
    if (!scratch || at >= HEAD_BYTES)
        return LINE_UNSURE;
    text = scratch->bytes + at;
    a = word(text) | FOLD;
    b = word(text + 8) | FOLD;
    if (a == WORD('c', 'o', 'n', 't', 'e', 'n', 't', '-') &&
        b == WORD('l', 'e', 'n', 'g', 't', 'h', ':', ' '))
        return LINE_HOST;
    if (a == WORD('c', 'o', 'n', 't', 'e', 'n', 't', '-') &&
        (b & FIRST(6)) == WORD('l', 'e', 'n', 'g', 't', 'h', 0, 0))
        return LINE_UNSURE;
    if (a == WORD('c', 'o', 'n', 'n', 'e', 'c', 't', 'i'))
        return b == WORD('o', 'n', ':', ' ', 'k', 'e', 'e', 'p') ? LINE_PLAIN : LINE_UNSURE;
    if (a == WORD('t', 'r', 'a', 'n', 's', 'f', 'e', 'r') ||
        (a & FIRST(7)) == WORD('u', 'p', 'g', 'r', 'a', 'd', 'e', 0))
        return LINE_UNSURE;
    return LINE_PLAIN;
}

/* Notes what the line that begins at `at` says. */
NOINLINE int walk_line(struct walk *walk, struct scratch *scratch, __u32 at) {
    int line;
    if (!walk || !scratch || at > HEAD_BYTES)
        return 0;
    line = walk->answer ? answer_line(scratch, at) : request_line(scratch, at);
    if (line == LINE_HOST) {
        if (walk->answer) {
            walk->sized++;
            walk->length = decimal(scratch, at + 16);
        } else {
            walk->hosts++;
            walk->host = at + 6;
        }
    } else if (line == LINE_KEEP) {
        walk->keeps++;
    } else if (line == LINE_CLOSE) {
        walk->closes++;
    } else if (line == LINE_NONE_MATCH) {
        walk->tags++;
        walk->tag = at + 15;
    } else if (line == LINE_SINCE) {
        walk->sinces++;
        walk->since = at + 19;
    } else if ((__u32)line > walk->worst) {
        walk->worst = line;
    }
    return 0;
}

/* Looks at a control character, or a byte that is not ASCII, at `at`; 1 ends the walk. */
NOINLINE int walk_odd(struct walk *walk, struct scratch *scratch, __u64 at) {
    unsigned char *byte;
    if (!walk || !scratch || at > HEAD_BYTES)
        return 1;
    byte = scratch->bytes + at;
    if (byte[0] == '\r' && byte[1] == '\n')
        return 0;
    if (byte[0] != '\n' || byte[-1] != '\r') {
        if (!walk->answer)
            walk->worst = LINE_UNSURE;
        return 0;
    }
    if (byte[1] == '\r' && byte[2] == '\n') {
        if (at + 2 < walk->size)
            walk->end = at + 3;
        return 1;
    }
    walk_line(walk, scratch, at + 1);
    return 0;
}

/* Looks at eight bytes one by one; 1 ends the walk. */
NOINLINE int walk_word(struct walk *walk, struct scratch *scratch, __u64 at) {
    __u64 i;
    if (!walk || !scratch || at > HEAD_BYTES - 8)
        return 1;
    for (i = 0; i < 8; i++) {
        unsigned char c = scratch->bytes[at + i];
        if (at + i >= walk->size)
            return 1;
        if ((c < 32 || c > 126) && walk_odd(walk, scratch, at + i))
            return 1;
    }
    return 0;
}

/* One step over eight bytes; 1 ends the walk. Words without a control character need no closer
 * look. */
static long walk_step(__u32 index, struct walker *walker) {
    struct walk *walk = walker->walk;
    struct scratch *scratch = walker->scratch;
    __u64 at = (__u64)index * 8, v;
    if (at >= walk->size || at > HEAD_BYTES - 8)
        return 1;
    v = word(scratch->bytes + at);
    if (!(((v - FOLD) | v | (v + ONES)) & HIGH))
        return 0;
    return walk_word(walk, scratch, at) != 0;
}

/* Walks over the head in the scratch buffer. */
INLINE void walk_head(struct walk *walk, struct scratch *scratch) {
    struct walker walker = {walk, scratch};
    repeat(HEAD_BYTES / 8, walk_step, &walker, 0);
}

#endif
