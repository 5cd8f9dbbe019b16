/* Packaging of a protocol's messages. messages.h has the interface. */
#include "messages.h"
#include "protocol.h"

#include <stdio.h>

static enum ccf_need feed(struct ccf_frame *frame, const char *bytes, size_t n) {
    return ccf_auto_feed(&ccf_protocol.automaton, frame, bytes, n);
}

static const struct ccf_framer framer = {.name = "message", .feed = feed, .end = ccf_auto_end};

struct ccf_packing ccf_messages = {.framer = &framer, .memory = 67108864};

int ccf_messages_main(struct ccf_filter *filter, const char *before, const char *behind,
                      const char *idle, int argc, char **argv) {
    static char about[120], times[2][80], size[80];
    const struct ccf_protocol *p = &ccf_protocol;
    const struct ccf_option options[] = {
        {"timeout", CCF_TIME, &ccf_messages.timeout, 1, 86400000, NULL, times[0]},
        {"idle", CCF_TIME, &ccf_messages.idle, 1, 86400000, NULL, times[1]},
        {"size", CCF_SIZE, &ccf_protocol.automaton.most, 1, 1073741824, NULL, size},
        {"memory", CCF_SIZE, &ccf_messages.memory, 65536, 1099511627776, NULL,
         "memory for incomplete long messages of all clients, default 64m"},
        {"limit", CCF_NUMBER, &filter->limit, 1, 1000000, NULL,
         "connections held, default: as many as descriptors allow"},
        {0}};
    ccf_messages.timeout = p->timeout;
    ccf_messages.idle = p->idle;
    snprintf(about, sizeof about, "%s %.40s%s", before, p->name, behind);
    snprintf(times[0], sizeof times[0], "time for a message from its first byte, default %ldms",
             p->timeout);
    snprintf(times[1], sizeof times[1], "%s, default %ldms", idle, p->idle);
    snprintf(size, sizeof size, "longest message, default %ld", p->automaton.most);
    filter->about = about;
    filter->options = options;
    return ccf_main(filter, argc, argv);
}
