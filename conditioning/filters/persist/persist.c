/* persist: presents each request of a persistent connection as a connection of its own, so that a
 * server is never occupied by a client that is between two requests. */
#include "ccfhttp.h"
#include "ccfrepeat.h"

static struct ccf_filter persist;
static struct ccf_packing packing = {.framer = &ccf_http_framer,
                                     .timeout = 10000,
                                     .idle = 15000,
                                     .memory = 67108864,
                                     .done = ccf_repeat};

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

/* Whether the client may send another request after this one. */
static bool wants_more(struct ccf_bundle *bundle) {
    struct ccf_http http;
    size_t length;
    const char *head = ccf_head(bundle, &length);
    return head != NULL && ccf_http_head(head, length, &http) == 1 && http.keep && !http.upgrade;
}

static bool start(void) {
    return ccf_repeat_start(&packing, wants_more);
}

static struct ccf_filter persist = {
    .name = "persist",
    .about = "splits persistent HTTP connections into single requests",
    .options = options,
    .needs = CCF_REQUESTS,
    .gives = CCF_REQUESTS,
    .traits = CCF_HOLDS | CCF_LEASES | CCF_SPLITS,
    .extra = sizeof(struct ccf_repeat),
    .start = start,
    .arrive = ccf_repeat,
    .shed = ccf_pack_shed_oldest,
    .stop = ccf_repeat_stop,
};

int main(int argc, char **argv) {
    return ccf_main(&persist, argc, argv);
}
