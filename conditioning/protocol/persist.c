/* A generated `persist`: presents each message of a connection as a connection of its own. It fits
 * servers that keep nothing from one message to the next.
 * Must not know: the protocol. */
#include "ccfrepeat.h"
#include "messages.h"

static bool start(void) {
    return ccf_repeat_start(&ccf_messages, NULL);
}

static struct ccf_filter persist = {
    .name = "persist",
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
    ccf_messages.done = ccf_repeat;
    return ccf_messages_main(&persist, "splits connections into single messages of", "",
                             "time between two messages", argc, argv);
}
