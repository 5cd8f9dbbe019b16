/* A generated `persist`: presents each message of a connection as a connection of its own. It fits
 * servers that keep nothing from one message to the next.
 * Must not know: the protocol, of which protocol.h tells what is needed. */
#include "ccfrepeat.h"
#include "protocol.h"

#include <stdio.h>

static enum ccf_need feed(struct ccf_frame *frame, const char *bytes, size_t n) {
    return ccf_auto_feed(&ccf_protocol.automaton, frame, bytes, n);
}

static const struct ccf_framer framer = {.name = "message", .feed = feed, .end = ccf_auto_end};

static struct ccf_filter persist;
static struct ccf_packing packing = {.framer = &framer, .memory = 67108864, .done = ccf_repeat};
static char about[100], timeout[80], idle[80], size[80];

static const struct ccf_option options[] = {
    {"timeout", CCF_TIME, &packing.timeout, 1, 86400000, NULL, timeout},
    {"idle", CCF_TIME, &packing.idle, 1, 86400000, NULL, idle},
    {"size", CCF_SIZE, &ccf_protocol.automaton.most, 1, 1073741824, NULL, size},
    {"memory", CCF_SIZE, &packing.memory, 65536, 1099511627776, NULL,
     "memory for incomplete long messages of all clients, default 64m"},
    {"limit", CCF_NUMBER, &persist.limit, 1, 1000000, NULL,
     "connections kept, default: as many as descriptors allow"},
    {0}};

static bool start(void) {
    return ccf_repeat_start(&packing, NULL);
}

static struct ccf_filter persist = {
    .name = "persist",
    .about = about,
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
    const struct ccf_protocol *p = &ccf_protocol;
    packing.timeout = p->timeout;
    packing.idle = p->idle;
    snprintf(about, sizeof about, "splits connections into single messages of %.40s", p->name);
    snprintf(timeout, sizeof timeout, "time for a message from its first byte, default %ldms",
             p->timeout);
    snprintf(idle, sizeof idle, "time between two messages, default %ldms", p->idle);
    snprintf(size, sizeof size, "longest message, default %ld", p->automaton.most);
    return ccf_main(&persist, argc, argv);
}
