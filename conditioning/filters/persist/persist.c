/* persist: presents each request of a persistent connection as a connection of its own, so that a
 * server is never occupied by a client that is between two requests. */
#define _GNU_SOURCE
#include "ccfhttp.h"

#include <sys/epoll.h>
#include <unistd.h>

/* What persist keeps of a connection. `pack` comes first, as ccf_pack wants it. */
struct kept {
    struct ccf_pack pack;
    struct ccf_watch watch; /* of the lease, while the server has the connection */
    struct ccf_bundle *bundle;
};

static struct ccf_filter persist;
static bool stopping;

static void present(struct ccf_bundle *bundle);
static struct ccf_packing packing = {.framer = &ccf_http_framer,
                                     .timeout = 10000,
                                     .idle = 15000,
                                     .memory = 67108864,
                                     .done = present};

static const struct ccf_option options[] = {
    {"idle", CCF_TIME, &packing.idle, 1, 86400000, NULL, "time between two requests, default 15s"},
    {"timeout", CCF_TIME, &packing.timeout, 1, 86400000, NULL,
     "time for a whole request, default 10s"},
    {"head", CCF_SIZE, &ccf_http_most_head, 64, 32000, NULL, "longest head, default 16k"},
    {"body", CCF_SIZE, &ccf_http_most_body, 0, 1073741824, NULL, "longest body, default 1m"},
    {"memory", CCF_SIZE, &packing.memory, 65536, 1099511627776, NULL,
     "memory for incomplete bodies of all clients, default 64m"},
    {"limit", CCF_NUMBER, &persist.limit, 1, 1000000, NULL,
     "connections kept, default: as many as descriptors allow"},
    {0}};

/* The server has given the connection back, or has closed it, or died. */
static void on_lease(struct ccf_watch *watch, uint32_t events) {
    struct kept *kept = CCF_OF(watch, struct kept, watch);
    struct ccf_bundle *bundle = kept->bundle;
    (void)events;
    bool good = ccf_lease_kept(watch->fd);
    ccf_watch_remove(watch);
    close(watch->fd);
    if (!good || stopping) {
        ccf_refuse(bundle, NULL, NULL); /* it is over: no reason is counted */
        return;
    }
    bundle->born = ccf_now();
    ccf_pack(bundle);
}

/* Whether the client may send another request after this one. */
static bool wants_more(struct ccf_bundle *bundle) {
    struct ccf_http http;
    size_t length;
    const char *head = ccf_head(bundle, &length);
    return head != NULL && ccf_http_head(head, length, &http) == 1 && http.keep && !http.upgrade;
}

/* Passes a request on, and keeps the connection if there may be another. */
static void present(struct ccf_bundle *bundle) {
    struct ccf_bundle *copy = stopping || !wants_more(bundle) ? NULL : ccf_copy(bundle);
    if (copy != NULL) {
        struct kept *kept = copy->own;
        kept->bundle = copy;
        kept->watch = (struct ccf_watch){.fd = ccf_lease(bundle), .call = on_lease};
        if (kept->watch.fd == -1 || !ccf_watch_add(&kept->watch, 0)) {
            /* Without a lease the server closes the connection after this request. */
            if (kept->watch.fd != -1)
                close(kept->watch.fd);
            ccf_drop(copy);
        }
    }
    ccf_pass(bundle);
}

static bool start(void) {
    return ccf_pack_start(&packing);
}

static void stop(void) {
    stopping = true;
    ccf_pack_end_idle();
}

static struct ccf_filter persist = {
    .name = "persist",
    .about = "splits persistent HTTP connections into single requests",
    .options = options,
    .needs = CCF_REQUESTS,
    .gives = CCF_REQUESTS,
    .traits = CCF_HOLDS | CCF_LEASES | CCF_SPLITS,
    .extra = sizeof(struct kept),
    .start = start,
    .arrive = present,
    .shed = ccf_pack_shed_oldest,
    .stop = stop,
};

int main(int argc, char **argv) {
    return ccf_main(&persist, argc, argv);
}
