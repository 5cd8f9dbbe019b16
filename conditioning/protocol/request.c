/* A generated `request`: holds a connection until the client's first message is complete, then
 * passes both on.
 * Must not know: the protocol, of which protocol.h tells what is needed. */
#include "protocol.h"

#include <stdio.h>

static enum ccf_need feed(struct ccf_frame *frame, const char *bytes, size_t n) {
    return ccf_auto_feed(&ccf_protocol.automaton, frame, bytes, n);
}

static const struct ccf_framer framer = {.name = "message", .feed = feed, .end = ccf_auto_end};

static void done(struct ccf_bundle *bundle) {
    ccf_pass(bundle);
}

static struct ccf_filter request;
static struct ccf_packing packing = {.framer = &framer, .memory = 67108864, .done = done};
static char about[100], timeout[80], idle[80], size[80];

static const struct ccf_option options[] = {
    {"timeout", CCF_TIME, &packing.timeout, 1, 86400000, NULL, timeout},
    {"idle", CCF_TIME, &packing.idle, 1, 86400000, NULL, idle},
    {"size", CCF_SIZE, &ccf_protocol.automaton.most, 1, 1073741824, NULL, size},
    {"memory", CCF_SIZE, &packing.memory, 65536, 1099511627776, NULL,
     "memory for incomplete long messages of all clients, default 64m"},
    {"limit", CCF_NUMBER, &request.limit, 1, 1000000, NULL,
     "connections held, default: as many as descriptors allow"},
    {0}};

static bool start(void) {
    return ccf_pack_start(&packing);
}

static struct ccf_filter request = {
    .name = "request",
    .about = about,
    .options = options,
    .needs = CCF_CONNECTIONS,
    .gives = CCF_REQUESTS,
    .traits = CCF_HOLDS,
    .extra = sizeof(struct ccf_pack),
    .start = start,
    .arrive = ccf_pack,
    .shed = ccf_pack_shed,
};

int main(int argc, char **argv) {
    const struct ccf_protocol *p = &ccf_protocol;
    packing.timeout = p->timeout;
    packing.idle = p->idle;
    snprintf(about, sizeof about, "passes on connections whose first message of %.40s is complete",
             p->name);
    snprintf(timeout, sizeof timeout, "time for a message from its first byte, default %ldms",
             p->timeout);
    snprintf(idle, sizeof idle, "time until the first byte, default %ldms", p->idle);
    snprintf(size, sizeof size, "longest message, default %ld", p->automaton.most);
    return ccf_main(&request, argc, argv);
}
