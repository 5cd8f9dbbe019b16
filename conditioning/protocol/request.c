/* A generated `request`: holds a connection until the client's first message is complete, then
 * passes both on.
 * Must not know: the protocol. */
#include "messages.h"

static bool start(void) {
    return ccf_pack_start(&ccf_messages);
}

/* A client that has said nothing is not waited for when the server stops. */
static void stop(void) {
    if (ccf_inside())
        ccf_pack_end_idle();
}

static struct ccf_filter request = {
    .name = "request",
    .needs = CCF_CONNECTIONS,
    .gives = CCF_REQUESTS,
    .traits = CCF_HOLDS,
    .extra = sizeof(struct ccf_pack),
    .start = start,
    .arrive = ccf_pack,
    .shed = ccf_pack_shed,
    .stop = stop,
};

int main(int argc, char **argv) {
    ccf_messages.done = ccf_pass;
    return ccf_messages_main(&request, "passes on connections whose first message of",
                             " is complete", "time until the first byte", argc, argv);
}
