/* slowread: limits how many connections a network has at the server at once, in percent of what the
 * server can take. A client that reads slowly then holds a part of the server, not all of it. */
#define _GNU_SOURCE
#include "nets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { LEVELS = 3, DELAY = 0 };
static struct ccf_filter slowread;
static long of = 256, share[LEVELS] = {25, 15, 10}, mode;
static const unsigned bits4[LEVELS] = {8, 16, 24}, bits6[LEVELS] = {32, 48, 64};

/* A connection that is at the server. It outlives the bundle. */
struct busy {
    struct ccf_watch watch;
    struct ccf_net *net[LEVELS];
};

static const struct ccf_option options[] = {
    {"of", CCF_NUMBER, &of, 1, 1000000, NULL, "connections that the server can serve, default 256"},
    {"net8", CCF_NUMBER, &share[0], 1, 100, NULL, "percent for a /8, or IPv6 /32, default 25"},
    {"net16", CCF_NUMBER, &share[1], 1, 100, NULL, "percent for a /16, or IPv6 /48, default 15"},
    {"net24", CCF_NUMBER, &share[2], 1, 100, NULL, "percent for a /24, or IPv6 /64, default 10"},
    {"mode", CCF_CHOICE, &mode, 0, 0, "delay|reject", "what happens above a share, default delay"},
    {"limit", CCF_NUMBER, &slowread.limit, 1, 1000000, NULL,
     "requests held, default: as many as descriptors allow"},
    {0}};

static const char *check(void) {
    static char reason[160];
    if (share[0] < share[1] || share[1] < share[2]) {
        snprintf(reason, sizeof reason,
                 "net16 must not exceed net8, nor net24 net16; net8 is %ld, net16 %ld, net24 %ld",
                 share[0], share[1], share[2]);
        return reason;
    }
    return NULL;
}

static long most(int level) {
    long n = of * share[level] / 100;
    return n > 0 ? n : 1;
}

/* Finds or makes the networks of a client. Returns false without memory. */
static bool networks(const struct ccf_address *from, struct ccf_net *net[LEVELS]) {
    for (int i = 0; i < LEVELS; i++)
        net[i] = ccf_net(from, from->family == 4 ? bits4[i] : bits6[i]);
    return net[0] != NULL && net[1] != NULL && net[2] != NULL;
}

/* Forgets networks of which nothing is known. `time` counts those who still look at one. */
static void forget(struct ccf_net *const net[LEVELS]) {
    for (int i = 0; i < LEVELS; i++)
        if (net[i] != NULL && net[i]->count == 0 && net[i]->time == 0 &&
            net[i]->waiting.first == NULL)
            ccf_net_forget(net[i]);
}

static void on_end(struct ccf_watch *watch, uint32_t events);

/* A client gets an answer if its request is known. Before that, it may speak any protocol. */
static void refuse(struct ccf_bundle *bundle, const char *reason) {
    ccf_refuse(bundle, reason,
               bundle->complete ? "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\n"
                                  "Content-Length: 0\r\nConnection: close\r\n\r\n"
                                : NULL);
}

/* Counts a request and passes it on. */
static void admit(struct ccf_bundle *bundle, struct ccf_net *const net[LEVELS]) {
    struct busy *busy = malloc(sizeof *busy);
    if (busy != NULL) {
        busy->watch = (struct ccf_watch){.fd = ccf_lease(bundle), .call = on_end};
        memcpy(busy->net, net, sizeof busy->net);
        if (busy->watch.fd != -1 && ccf_watch_add(&busy->watch, 0)) {
            for (int i = 0; i < LEVELS; i++)
                net[i]->count++;
            ccf_pass(bundle);
            return;
        }
        if (busy->watch.fd != -1)
            close(busy->watch.fd);
    }
    free(busy);
    refuse(bundle, "no descriptors");
}

/* Passes a request on if its networks have room, or makes it wait for the first that has not. */
static void arrive(struct ccf_bundle *bundle) {
    struct ccf_net *net[LEVELS] = {0}, *full = NULL;
    if (bundle->from.family == 0) {
        ccf_pass(bundle); /* a Unix socket has no network */
        return;
    }
    if (!networks(&bundle->from, net)) {
        refuse(bundle, "no memory");
        forget(net);
        return;
    }
    for (int i = 0; i < LEVELS && full == NULL; i++)
        if (net[i]->count >= most(i))
            full = net[i];
    if (full == NULL)
        admit(bundle, net);
    else if (mode == DELAY)
        ccf_push(&full->waiting, bundle);
    else
        refuse(bundle, "network has its share");
    forget(net);
}

/* A connection has left the server: those that waited for its networks may go on. */
static void on_end(struct ccf_watch *watch, uint32_t events) {
    struct busy *busy = CCF_OF(watch, struct busy, watch);
    (void)events;
    ccf_watch_remove(watch);
    close(watch->fd);
    for (int i = 0; i < LEVELS; i++) {
        busy->net[i]->count--;
        busy->net[i]->time++;
    }
    /* One that waited here may have to wait for another network; then the next one has its turn. */
    for (int i = 0; i < LEVELS; i++)
        while (busy->net[i]->waiting.first != NULL && busy->net[i]->count < most(i))
            arrive(ccf_pop(&busy->net[i]->waiting));
    for (int i = 0; i < LEVELS; i++)
        busy->net[i]->time--;
    forget(busy->net);
    free(busy);
}

static struct ccf_filter slowread = {
    .name = "slowread",
    .about = "limits how much of the server a network can occupy",
    .options = options,
    .needs = CCF_ANY,
    .traits = CCF_HOLDS | CCF_LEASES,
    .check = check,
    .arrive = arrive,
};

int main(int argc, char **argv) {
    return ccf_main(&slowread, argc, argv);
}
