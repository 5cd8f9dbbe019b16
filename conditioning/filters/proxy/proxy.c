/* proxy: the PROXY protocol. With mode=in a proxy in front of the chain says who its clients are;
 * with mode=out the server behind the chain is told. */
#define _GNU_SOURCE
#include "header.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include "wire.h"

enum { IN, OUT };
enum { NETWORKS = 32 };

static struct ccf_filter proxy;
static long mode = IN, version = 1, timeout = 3000;
static const char *trust = "127.0.0.0/8+::1/128";
static struct {
    struct ccf_address net;
    unsigned bits;
} trusted[NETWORKS];
static size_t trusted_count;

struct waiting {
    struct ccf_watch watch;
    struct ccf_timer timer;
    struct ccf_bundle *bundle;
};

static const struct ccf_option options[] = {
    {"mode", CCF_CHOICE, &mode, 0, 0, "in|out", "read a header, or write one; default in"},
    {"trust", CCF_TEXT, &trust, 0, 0, NULL,
     "trusted networks, separated by '+'; default 127.0.0.0/8+::1/128"},
    {"timeout", CCF_TIME, &timeout, 1, 60000, NULL, "time for a header to arrive, default 3s"},
    {"version", CCF_CHOICE, &version, 0, 0, "1|2",
     "version of the header that is written; default 2"},
    {"limit", CCF_NUMBER, &proxy.limit, 1, 1000000, NULL,
     "connections held, default: as many as descriptors allow"},
    {0}};

/* ADDRESS or ADDRESS/BITS */
static bool read_network(const char *text, size_t n) {
    char buffer[64];
    if (n == 0 || n >= sizeof buffer || trusted_count == NETWORKS)
        return false;
    memcpy(buffer, text, n);
    buffer[n] = '\0';
    char *slash = strchr(buffer, '/'), *end = NULL;
    if (slash != NULL)
        *slash = '\0';
    struct ccf_address net = {.family = strchr(buffer, ':') != NULL ? 6 : 4};
    unsigned long most = net.family == 4 ? 32 : 128, bits = most;
    if (slash != NULL) {
        bits = strtoul(slash + 1, &end, 10);
        if (slash[1] == '\0' || *end != '\0' || bits > most)
            return false;
    }
    if (inet_pton(net.family == 4 ? AF_INET : AF_INET6, buffer, net.bytes) != 1)
        return false;
    trusted[trusted_count].net = net;
    trusted[trusted_count++].bits = (unsigned)bits;
    return true;
}

static const char *check(void) {
    for (const char *p = trust; *p != '\0';) {
        size_t n = strcspn(p, "+");
        if (!read_network(p, n))
            return "trust must be networks such as 10.0.0.0/8+2001:db8::/32";
        p += n + (p[n] == '+');
    }
    if (mode == OUT) {
        proxy.needs = CCF_REQUESTS;
        proxy.gives = CCF_REQUESTS;
        proxy.traits = CCF_LAST | CCF_CHANGES;
    }
    return NULL;
}

static bool is_trusted(const struct ccf_address *from) {
    for (size_t i = 0; i < trusted_count; i++) {
        unsigned whole = trusted[i].bits / 8, rest = trusted[i].bits % 8;
        const struct ccf_address *net = &trusted[i].net;
        if (net->family == from->family && memcmp(net->bytes, from->bytes, whole) == 0 &&
            (rest == 0 ||
             ((net->bytes[whole] ^ from->bytes[whole]) & (0xff00u >> rest) & 0xff) == 0))
            return true;
    }
    return false;
}

static void leave(struct waiting *waiting) {
    ccf_watch_remove(&waiting->watch);
    ccf_timer_clear(&waiting->timer);
}

static void on_time(struct ccf_timer *timer) {
    struct waiting *waiting = CCF_OF(timer, struct waiting, timer);
    leave(waiting);
    ccf_refuse(waiting->bundle, "overdue", NULL);
}

static void on_bytes(struct ccf_watch *watch, uint32_t events) {
    struct waiting *waiting = CCF_OF(watch, struct waiting, watch);
    struct ccf_bundle *bundle = waiting->bundle;
    char bytes[HEADER_MOST];
    ssize_t n = recv(bundle->fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    if (n == -1 && errno == EAGAIN && !(events & (EPOLLHUP | EPOLLERR)))
        return;
    int size = n > 0 ? header_read(bytes, (size_t)n, &bundle->from) : -1;
    if (size == 0 && !(events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
        return;
    leave(waiting);
    if (size > 0 && recv(bundle->fd, bytes, (size_t)size, MSG_DONTWAIT) == size)
        ccf_pass(bundle);
    else
        ccf_refuse(bundle, n > 0 ? "malformed" : "aborted", NULL);
}

static void read_header(struct ccf_bundle *bundle) {
    struct waiting *waiting = bundle->own;
    if (!is_trusted(&bundle->from)) {
        ccf_refuse(bundle, "not trusted", NULL);
        return;
    }
    waiting->bundle = bundle;
    waiting->watch = (struct ccf_watch){.fd = bundle->fd, .call = on_bytes};
    waiting->timer.call = on_time;
    if (!ccf_timer_set(&waiting->timer, ccf_now() + (uint64_t)timeout) ||
        !ccf_watch_add(&waiting->watch, EPOLLIN | EPOLLRDHUP | EPOLLET)) {
        leave(waiting);
        ccf_refuse(bundle, "no memory", NULL);
    }
}

static void write_header(struct ccf_bundle *bundle) {
    struct sockaddr_storage local = {0};
    socklen_t size = sizeof local;
    char bytes[HEADER_MOST];
    getsockname(bundle->fd, (struct sockaddr *)&local, &size);
    struct cc__address own = cc__address_of(&local);
    struct ccf_address to = {.family = own.family, .port = own.port};
    memcpy(to.bytes, own.bytes, sizeof to.bytes);
    size_t n = header_write((int)version + 1, &bundle->from, &to, bytes);
    if (ccf_replace(bundle, 0, bytes, n))
        ccf_pass(bundle);
    else
        ccf_refuse(bundle, "no memory", NULL);
}

static void arrive(struct ccf_bundle *bundle) {
    if (mode == IN)
        read_header(bundle);
    else
        write_header(bundle);
}

static struct ccf_filter proxy = {
    .name = "proxy",
    .about = "reads or writes the PROXY protocol's header",
    .options = options,
    .needs = CCF_CONNECTIONS,
    .gives = CCF_CONNECTIONS,
    .traits = CCF_HOLDS,
    .extra = sizeof(struct waiting),
    .check = check,
    .arrive = arrive,
};

int main(int argc, char **argv) {
    return ccf_main(&proxy, argc, argv);
}
