/* Unit tests of what needs no process: trees, tables, timers, parsers, leases, escapes. Prints what
 * is wrong; exit status 1 if anything is. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "../chain/chain.h"
#include "../filters/check/path.h"
#include "../filters/proxy/header.h"
#include "ccfhttp.h"
#include "ccftree.h"
#include "frame.h"
#include "nets.h"

static int wrong, checks;
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        checks++;                                                                                  \
        if (!(condition)) {                                                                        \
            wrong++;                                                                               \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                 \
        }                                                                                          \
    } while (0)

static struct ccf_address v4(unsigned a, unsigned b, unsigned c, unsigned d) {
    return (struct ccf_address){.family = 4,
                                .bytes = {(uint8_t)a, (uint8_t)b, (uint8_t)c, (uint8_t)d}};
}

struct item {
    struct ccf_tree_item item;
    struct ccf_address from;
    int order;
};

static void heaviest(void) {
    struct ccf_tree *tree = ccf_tree_new(0);
    struct item items[40] = {{{0}, {0}, 0}};
    CHECK(ccf_tree_heaviest(tree) == NULL);
    for (int i = 0; i < 40; i++) {
        /* 10.0.0.0/8 has 25 items on 5 addresses, others one each. */
        items[i].from = i < 25 ? v4(10, 0, 0, (unsigned)i % 5) : v4(20 + (unsigned)i, 1, 2, 3);
        CHECK(ccf_tree_add(tree, &items[i].item, &items[i].from));
    }
    CHECK(ccf_tree_count(tree) == 40);
    struct item *first = (struct item *)(void *)ccf_tree_heaviest(tree);
    CHECK(first == &items[0]);
    for (int i = 0; i < 10; i++) {
        struct ccf_tree_item *item = ccf_tree_heaviest(tree);
        CHECK(((struct item *)(void *)item)->from.bytes[0] == 10);
        ccf_tree_remove(tree, item);
    }
    for (int i = 0; i < 40; i++)
        ccf_tree_remove(tree, &items[i].item);
    CHECK(ccf_tree_count(tree) == 0);
    ccf_tree_free(tree);
}

static void recency(void) {
    struct ccf_tree *tree = ccf_tree_new(8);
    struct item items[32] = {{{0}, {0}, 0}};
    for (int i = 0; i < 31; i++) {
        items[i].from = v4(10, 0, 0, 1);
        ccf_tree_add(tree, &items[i].item, &items[i].from);
    }
    CHECK(ccf_tree_next(tree) == &items[0].item);
    /* A visitor from elsewhere is next, though 30 were there before. */
    items[31].from = (struct ccf_address){.family = 6, .bytes = {0x20, 1}};
    ccf_tree_add(tree, &items[31].item, &items[31].from);
    CHECK(ccf_tree_next(tree) == &items[31].item);
    /* One from the same /28, never served, goes before the busy address. */
    items[0].from = v4(10, 0, 0, 9);
    ccf_tree_add(tree, &items[0].item, &items[0].from);
    CHECK(ccf_tree_next(tree) == &items[0].item);
    for (int i = 1; i < 31; i++)
        CHECK(ccf_tree_next(tree) == &items[i].item);
    CHECK(ccf_tree_next(tree) == NULL);
    /* The tree remembers who was served: the one that was not for longest is next. */
    ccf_tree_add(tree, &items[1].item, &items[1].from);
    ccf_tree_add(tree, &items[31].item, &items[31].from);
    CHECK(ccf_tree_next(tree) == &items[31].item);
    CHECK(ccf_tree_next(tree) == &items[1].item);
    ccf_tree_free(tree);
}

/* A tree against counts that are kept by hand. */
static void random_tree(void) {
    enum { COUNT = 500 };
    static struct item items[COUNT];
    struct ccf_tree *tree = ccf_tree_new(20);
    size_t in = 0;
    srand(7);
    for (int step = 0; step < 20000; step++) {
        struct item *it = &items[rand() % COUNT];
        if (it->item.leaf != NULL) {
            ccf_tree_remove(tree, &it->item);
            in--;
        } else {
            unsigned r = (unsigned)rand();
            it->from = r & 1 ? v4(10 + (r >> 1 & 1), r >> 2 & 3, r >> 4 & 7, r >> 7 & 15)
                             : (struct ccf_address){.family = 6, .bytes = {(uint8_t)(r >> 2 & 3)}};
            CHECK(ccf_tree_add(tree, &it->item, &it->from));
            in++;
        }
        if (step % 7 == 0 && in > 0) {
            CHECK(ccf_tree_next(tree) != NULL);
            in--;
        }
        if (ccf_tree_count(tree) != in) {
            CHECK(ccf_tree_count(tree) == in);
            break;
        }
    }
    for (int i = 0; i < COUNT; i++)
        ccf_tree_remove(tree, &items[i].item);
    ccf_tree_free(tree);
}

static bool useless(const struct ccf_net *net) {
    return net->count == 0;
}

static void networks(void) {
    struct ccf_address a = v4(10, 1, 2, 3), b = v4(10, 1, 255, 3);
    struct ccf_net *net = ccf_net(&a, 16);
    CHECK(net == ccf_net(&b, 16) && net != ccf_net(&b, 24) && net != ccf_net(&a, 17));
    net->count = 1;
    for (unsigned i = 0; i < 2000; i++) {
        struct ccf_address c = v4(11, i >> 8, i & 255, 0);
        CHECK(ccf_net(&c, 32) != NULL);
    }
    CHECK(ccf_nets() == 2003);
    ccf_net_sweep(useless);
    CHECK(ccf_nets() == 1 && ccf_net(&a, 16) == net);
}

static uint64_t last_time;
static int called;
static void on_timer(struct ccf_timer *timer) {
    CHECK(timer->when >= last_time);
    last_time = timer->when;
    called++;
}

static void timers(void) {
    static struct ccf_timer timer[300];
    srand(3);
    for (int i = 0; i < 300; i++) {
        timer[i].call = on_timer;
        ccf_timer_set(&timer[i], 1 + (uint64_t)rand() % 1000);
    }
    for (int i = 0; i < 300; i += 3)
        ccf_timer_set(&timer[i], 1 + (uint64_t)rand() % 1000);
    for (int i = 0; i < 300; i += 5)
        ccf_timer_clear(&timer[i]);
    ccf__run_timers();
    CHECK(called == 240);
}

struct sample {
    const char *text;
    int whole; /* 1 whole, 0 more, -1 bad */
    size_t rest;
};

static const struct sample samples[] = {
    {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 1, 0},
    {"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET", 1, 3},
    {"GET / HTTP/1.0\n\n", 1, 0},
    {"GET / HTTP/1.1\r\nHost: a\r\n", 0, 0},
    {"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n1234", 0, 0},
    {"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n12345x", 1, 1},
    {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nz", 1, 1},
    {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: u\r\n\r\n", 1,
     0},
    {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n", -1, 0},
    {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", -1, 0},
    {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", -1, 0},
    {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n123456789\r\n", -1, 0},
    {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", -1, 0},
    {"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", -1, 0},
    {"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n", -1, 0},
    {"POST / HTTP/1.1\r\nContent-Length: +3\r\n\r\n", -1, 0},
    {"POST / HTTP/1.1\r\nContent-Length : 3\r\n\r\n", -1, 0},
    {"GET / HTTP/1.1\r\n Folded: a\r\n\r\n", -1, 0},
    {"GET /\r\n\r\n", -1, 0},
    {"GET / HTTP/2.0\r\n\r\n", -1, 0},
    {"\r\nGET / HTTP/1.1\r\n\r\n", 1, 0},
    {"\r\n", 0, 0},
    {"\r\n\r\nGET / HTTP/1.1\r\n\r\n", -1, 0},
};

/* Each sample whole and at every cut gives the same. */
static void framing(void) {
    for (size_t s = 0; s < sizeof samples / sizeof samples[0]; s++) {
        size_t n = strlen(samples[s].text);
        for (size_t cut = 0; cut <= n; cut++) {
            struct ccf_frame frame = {0};
            enum ccf_need need = CCF_MORE;
            for (size_t have = cut; need == CCF_MORE; have = have + 1 < n ? have + 1 : n) {
                need = ccf_http_framer.feed(&frame, samples[s].text, have);
                if (have == n)
                    break;
            }
            int got = need == CCF_WHOLE ? 1 : need == CCF_BAD ? -1 : 0;
            if (got != samples[s].whole || (got == 1 && n - frame.fed != samples[s].rest)) {
                CHECK(!"framing");
                printf("  sample %zu, cut %zu: %d, fed %zu of %zu\n", s, cut, got, frame.fed, n);
            }
            checks++;
        }
    }
}

static void heads(void) {
    struct ccf_http http;
    const char *text =
        "GET /x HTTP/1.1\r\nhost: a\r\nConnection: keep-alive, Close\r\nHost: b\r\n\r\n";
    CHECK(ccf_http_head(text, strlen(text), &http) == 1);
    CHECK(http.hosts == 2 && !http.keep && http.headers == 3 && http.target_size == 2);
    text = "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\nUpgrade: x\r\n\r\n";
    CHECK(ccf_http_head(text, strlen(text), &http) == 1 && http.keep && http.upgrade && !http.bare);
    text = "\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n";
    CHECK(ccf_http_head(text, strlen(text), &http) == 1 && http.size == strlen(text));
    CHECK(http.start == 2 && http.method == 3 && memcmp(text + http.target, "/x ", 3) == 0);
    for (size_t cut = 0; cut < strlen(text); cut++)
        CHECK(ccf_http_head(text, cut, &http) == 0);
    CHECK(ccf_http_head("\r\n\r\nGET / HTTP/1.1\r\n\r\n", 22, &http) == -1);
}

static void told(void) {
    struct ccf_http http;
    char to[200];
    const char *text = "POST / HTTP/1.1\r\nexpect:\t100-Continue \r\nHost: a\r\nExpect: 200-ok\r\n"
                       "Expect: 100-continue\r\nX-Expect: 100-continue\r\n\r\n";
    const char *want = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n"
                       "X-Expect: 100-continue\r\n\r\n";
    CHECK(ccf_http_head(text, strlen(text), &http) == 1 && http.expects);
    CHECK(ccf_http_told(text, http.size, to) == strlen(want));
    CHECK(memcmp(to, want, strlen(want)) == 0);
    text = "POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n";
    CHECK(ccf_http_head(text, strlen(text), &http) == 1 && !http.expects);
}

static bool simplifies(const char *from, long strip, bool fold, const char *want) {
    char to[200];
    size_t n = path_simplify(from, strlen(from), strip, fold, to);
    return n == strlen(want) && memcmp(to, want, n) == 0;
}

static void paths(void) {
    size_t start, n;
    CHECK(simplifies("/a//b///c", 0, true, "/a/b/c"));
    CHECK(simplifies("/a//b", 0, false, "/a//b"));
    CHECK(simplifies("/a/b/c", 1, false, "/b/c"));
    CHECK(simplifies("//a//b/c", 1, true, "/b/c"));
    CHECK(simplifies("/a", 3, true, "/"));
    CHECK(path_in("/a?b//c", 7, &start, &n) && start == 0 && n == 2);
    CHECK(path_in("http://h:1/a", 12, &start, &n) && start == 10 && n == 2);
    CHECK(!path_in("*", 1, &start, &n) && !path_in("http://h", 8, &start, &n));
    static const char *const bad[] = {"/..",  "/a/../..", "/%2e%2E/x", "/a/..%2f../x", "/a\\b",
                                      "/%00", "/.%2e",    "//../a",    "/%5c"};
    static const char *const good[] = {"/", "/a/..", "/...", "/a/./b/../c", "/%2e", "/%", "/%zz"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(path_suspicious(bad[i], strlen(bad[i])) != NULL);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CHECK(path_suspicious(good[i], strlen(good[i])) == NULL);
}

static void proxy_headers(void) {
    struct ccf_address from = v4(192, 0, 2, 7), to = v4(10, 0, 0, 1), got = {0};
    char bytes[HEADER_MOST];
    from.port = 4711;
    to.port = 80;
    for (int version = 1; version <= 2; version++) {
        size_t n = header_write(version, &from, &to, bytes);
        memset(&got, 0, sizeof got);
        CHECK(header_read(bytes, n, &got) == (int)n && memcmp(&got, &from, sizeof got) == 0);
        for (size_t cut = 0; cut < n; cut++)
            CHECK(header_read(bytes, cut, &got) == 0);
    }
    CHECK(header_read("GET / HTTP/1.1\r\n", 16, &got) == -1);
    CHECK(header_read("PROXY UNKNOWN\r\n", 15, &got) == 15);
    const char *bad = "PROXY TCP4 1.2.3.4 5.6.7.8 1 65536\r\n";
    CHECK(header_read(bad, strlen(bad), &got) == -1);
}

static int lease_of(const char *bytes) {
    struct ccf_bundle bundle = {.fd = -1};
    int lease = ccf_lease(&bundle);
    if (write(bundle.lease[0], bytes, strlen(bytes)) < 0)
        return -1;
    close(bundle.lease[0]);
    int kept = ccf_lease_kept(lease);
    close(lease);
    return kept;
}

static void leases(void) {
    CHECK(lease_of("K") == 1 && lease_of("") == 0 && lease_of("C") == 0);
    CHECK(lease_of("FKK") == 1 && lease_of("FK") == 0 && lease_of("FKC") == 0);
    CHECK(lease_of("FUK") == 1 && lease_of("FFKKK") == 1 && lease_of("KK") == 0);
}

static void messages(void) {
    struct cc__head head = cc__head_of(CC__BUNDLE);
    head.length = 10;
    CHECK(cc__valid(&head, sizeof head + 10, 1) && !cc__valid(&head, sizeof head + 10, 2));
    CHECK(!cc__valid(&head, sizeof head + 9, 1) && !cc__valid(&head, sizeof head - 1, 1));
    head.leases = CC__LEASES + 1;
    CHECK(!cc__valid(&head, sizeof head + 10, CC__LEASES + 2));
    head = cc__head_of(CC__TAKE);
    CHECK(cc__valid(&head, sizeof head, 0) && !cc__valid(&head, sizeof head, 1));
    head = cc__head_of(CC__ATTACH);
    CHECK(!cc__valid(&head, sizeof head, 0) && !cc__valid(&head, sizeof head, 3));
    CHECK(cc__valid(&head, sizeof head, 1) && cc__valid(&head, sizeof head, 2));
    head = cc__head_of(CC__CHAIN);
    head.length = 10;
    CHECK(cc__valid(&head, sizeof head + 10, 0) && !cc__valid(&head, sizeof head + 10, 1));
    CHECK(!cc__valid(&head, sizeof head + 9, 0));
}

/* Without room for it, a request is dropped, and everything else of the bundle arrives. */
static void dropped(void) {
    struct cc__head head = cc__head_of(CC__BUNDLE);
    struct cc__message message = {.bytes = NULL};
    int pair[2], given;
    CHECK(cc__pair(pair) == 0);
    for (head.length = 0; head.length <= 2; head.length++) {
        given = dup(0);
        CHECK(cc__send(pair[0], &head, "ab", head.length, &given, 1, 0) == 0);
        CHECK(cc__receive(pair[1], &message, MSG_DONTWAIT) == 1 && message.count == 1);
        CHECK(message.head.length == head.length);
        cc__close_all(message.fds, message.count);
        close(given);
    }
    /* A length that is not that of the message, and a message that has no bytes. */
    CHECK(send(pair[0], &head, sizeof head, 0) == (ssize_t)sizeof head);
    CHECK(cc__receive(pair[1], &message, MSG_DONTWAIT) == -EPROTO);
    head = cc__head_of(CC__TAKE);
    CHECK(cc__send(pair[0], &head, "ab", 2, NULL, 0, 0) == 0);
    CHECK(cc__receive(pair[1], &message, MSG_DONTWAIT) == -EPROTO);
    cc__close_all(pair, 2);
}

/* Several messages by one call: each is judged by itself, and the end of the stream is one. */
static void several(void) {
    struct cc__head take = cc__head_of(CC__TAKE), bundle = cc__head_of(CC__BUNDLE);
    struct cc__message messages[CC__BATCH];
    static char bytes[CC__BATCH][CC__INLINE];
    int pair[2], given = dup(0);
    for (int i = 0; i < CC__BATCH; i++)
        messages[i].bytes = bytes[i];
    CHECK(cc__pair(pair) == 0);
    CHECK(cc__receive_many(pair[1], messages, CC__BATCH) == -EAGAIN);
    CHECK(cc__send(pair[0], &take, NULL, 0, NULL, 0, 0) == 0);
    for (bundle.length = 1; bundle.length <= 3; bundle.length++)
        CHECK(cc__send(pair[0], &bundle, "abc", bundle.length, &given, 1, 0) == 0);
    CHECK(cc__send(pair[0], &take, NULL, 0, &given, 1, 0) == 0);
    close(pair[0]);
    CHECK(cc__receive_many(pair[1], messages, 2) == 2);
    CHECK(messages[0].got == 1 && messages[0].head.type == CC__TAKE && messages[0].count == 0);
    CHECK(messages[1].got == 1 && messages[1].count == 1 && messages[1].bytes[0] == 'a');
    close(messages[1].fds[0]);
    CHECK(cc__receive_many(pair[1], messages, CC__BATCH) >= 4);
    for (unsigned i = 0; i < 2; i++) {
        CHECK(messages[i].got == 1 && messages[i].head.length == 2 + i && messages[i].count == 1);
        CHECK(memcmp(messages[i].bytes, "abc", 2 + i) == 0);
        close(messages[i].fds[0]);
    }
    CHECK(messages[2].got == -EPROTO && messages[2].count == 0 && messages[3].got == 0);
    close(given);
    CHECK(dup(0) == given); /* no descriptor of a malformed message is left */
    close(given);
    close(pair[1]);
}

static int unit_hop;

/* A bundle that was acknowledged is not sent again, even if the acknowledgement is still unread
 * when the next bundle finds the link ended. */
static void acknowledged(void) {
    static struct ccf_filter filter = {.name = "unit"};
    static struct ccf__counters counters;
    struct cc__head attach = cc__head_of(CC__ATTACH), take = cc__head_of(CC__TAKE);
    char bytes[CC__INLINE];
    struct cc__message message = {.bytes = bytes};
    int hop[2], link[2];
    ccf__filter = &filter;
    ccf__count = &counters;
    /* The numbers that a filter's descriptors have are taken, so that nothing else gets them. */
    while (dup(0) <= CCF__COUNTERS)
        continue;
    CHECK(ccf__loop_start() && cc__pair(hop) == 0 && cc__pair(link) == 0);
    CHECK(dup2(hop[1], CCF__OUT) == CCF__OUT && ccf__down_start());
    CHECK(cc__send(hop[0], &attach, NULL, 0, &link[1], 1, 0) == 0);
    close(link[1]);
    take.demand = 2;
    CHECK(cc__send(link[0], &take, NULL, 0, NULL, 0, 0) == 0);
    ccf__events(0);
    ccf__events(0);
    CHECK(ccf__down_wanted() == 2);
    for (int i = 0; i < 2; i++) {
        struct ccf_bundle *bundle = ccf__new(dup(0));
        ccf__hold(bundle);
        ccf_pass(bundle);
        if (i == 0) {
            ccf__down_update();
            CHECK(cc__receive(link[0], &message, 0) == 1);
            cc__close_all(message.fds, message.count);
            take.demand = 0;
            take.taken = 1;
            CHECK(cc__send(link[0], &take, NULL, 0, NULL, 0, 0) == 0);
            close(link[0]);
        }
    }
    ccf__down_update();
    ccf__events(0);
    CHECK(ccf__down_ready() == 1 && counters.held == 1 && ccf__down_wanted() == 0);
    unit_hop = hop[0];
}

/* Announces a link whose receiver does not acknowledge, and asks for `demand` bundles. Returns the
 * receiver's end. */
static int attach_twin(uint32_t demand) {
    struct cc__head attach = cc__head_of(CC__ATTACH), take = cc__head_of(CC__TAKE);
    int link[2];
    take.demand = demand;
    CHECK(cc__pair(link) == 0);
    int fds[2] = {link[1], link[0]};
    CHECK(cc__send(unit_hop, &attach, NULL, 0, fds, 2, 0) == 0);
    close(link[1]);
    CHECK(cc__send(link[0], &take, NULL, 0, NULL, 0, 0) == 0);
    ccf__events(0);
    ccf__events(0);
    return link[0];
}

static int open_descriptors(void) {
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}

static unsigned received(int link) {
    char bytes[CC__INLINE];
    struct cc__message message = {.bytes = bytes};
    if (cc__receive(link, &message, MSG_DONTWAIT) != 1)
        return 0;
    cc__close_all(message.fds, message.count);
    return message.head.port;
}

/* What a receiver without acknowledgements has left in its socket goes, in its order, to the next
 * one, before all others; nobody keeps a descriptor of it in between. */
static void taken_back(void) {
    int first = attach_twin(4), before = open_descriptors();
    CHECK(ccf__down_wanted() == 4 && ccf__down_ready() == 1);
    for (uint16_t port = 1; port <= 4; port++) {
        struct ccf_bundle *bundle = ccf__new(dup(0));
        bundle->from.port = port;
        ccf__hold(bundle);
        ccf_pass(bundle);
    }
    ccf__down_update();
    CHECK(ccf__count->held == 1 && ccf__down_wanted() == 0 && ccf__down_ready() == 1);
    CHECK(received(first) == 0 && received(first) == 1); /* that of `acknowledged` has no port */
    close(first);
    int second = attach_twin(1);
    CHECK(ccf__down_wanted() == 1 && ccf__down_ready() >= 2);
    ccf__down_update();
    CHECK(received(second) == 2 && received(second) == 0 && ccf__count->held == 2);
    close(second);
    int third = attach_twin(9);
    ccf__down_update();
    CHECK(received(third) == 3 && received(third) == 4 && received(third) == 0);
    CHECK(ccf__down_idle() && ccf__count->held == 0 && ccf__count->oldest == 0);
    /* `before` had one bundle more, and there is one link now as well. */
    CHECK(open_descriptors() == before - 1);
}

/* What `shown` has made of some bytes; -1: no escape of it. */
static long unshown(const char *text, unsigned char *to) {
    static const char letters[] = "nrt\\", plain[] = "\n\r\t\\";
    long n = 0;
    for (; *text != '\0'; text++) {
        unsigned byte = (unsigned char)*text;
        if (byte == '\\' && text[1] == 'x') {
            if (sscanf(text + 2, "%2x", &byte) != 1)
                return -1;
            text += 3;
        } else if (byte == '\\') {
            const char *letter = *++text == '\0' ? NULL : strchr(letters, *text);
            if (letter == NULL)
                return -1;
            byte = (unsigned char)plain[letter - letters];
        } else if (byte < ' ' || byte > '~') {
            return -1;
        }
        to[n++] = (unsigned char)byte;
    }
    return n;
}

/* Any bytes can be read back, and none is a control. */
static void texts(void) {
    unsigned char bytes[40], back[200];
    char text[4 * sizeof bytes + 1], small[6];
    srandom(1);
    for (int round = 0; round < 20000; round++) {
        size_t n = (size_t)random() % sizeof bytes;
        for (size_t i = 0; i < n; i++)
            bytes[i] =
                (unsigned char)(random() % 4 == 0 ? "\\x1n"[random() % 4] : 1 + random() % 255);
        shown(text, sizeof text, (const char *)bytes, n);
        CHECK(unshown(text, back) == (long)n && memcmp(back, bytes, n) == 0);
    }
    shown(small, sizeof small, "ab\x1b", 3);
    CHECK(strcmp(small, "ab") == 0);
}

int main(void) {
    texts();
    several();
    acknowledged();
    taken_back();
    heaviest();
    recency();
    random_tree();
    networks();
    timers();
    framing();
    heads();
    told();
    paths();
    proxy_headers();
    leases();
    messages();
    dropped();
    printf("%d checks, %d wrong\n", checks, wrong);
    return wrong != 0;
}
