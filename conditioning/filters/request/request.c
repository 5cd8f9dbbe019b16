/* request: holds a connection until its request is complete, then passes both on. It usually comes
 * first and keeps clients that send nothing, or slowly, away from everything behind it. */
#include "ccfhttp.h"

static struct ccf_filter request;
static struct ccf_packing packing = {
    .framer = &ccf_http_framer, .timeout = 10000, .memory = 67108864, .done = ccf_pass};

enum { FILTER, SERVER };

static const struct ccf_option options[] = {
    {"timeout", CCF_TIME, &packing.timeout, 1, 86400000, NULL,
     "time for a whole request, default 10s"},
    {"head", CCF_SIZE, &ccf_http_most_head, 64, 32000, NULL, "longest head, default 16k"},
    {"body", CCF_SIZE, &ccf_http_most_body, 0, 1073741824, NULL, "longest body, default 1m"},
    {"memory", CCF_SIZE, &packing.memory, 65536, 1099511627776, NULL,
     "memory for incomplete bodies of all clients, default 64m"},
    {"continue", CCF_CHOICE, &packing.passes, 0, 0, "filter|server",
     "who answers 'Expect: 100-continue'; the server gets the head alone; default filter"},
    {"limit", CCF_NUMBER, &request.limit, 1, 1000000, NULL,
     "connections held, default: as many as descriptors allow"},
    {0}};

static const char *check(void) {
    if (packing.passes == SERVER && !ccf_peeks())
        return "continue=server is for cc-condition: a server that uses the library gets whole "
               "requests, so remove it";
    return NULL;
}

static bool start(void) {
    return ccf_pack_start(&packing);
}

static struct ccf_filter request = {
    .name = "request",
    .about = "passes on connections whose HTTP request is complete",
    .options = options,
    .needs = CCF_CONNECTIONS,
    .gives = CCF_REQUESTS,
    .traits = CCF_HOLDS,
    .extra = sizeof(struct ccf_pack),
    .check = check,
    .start = start,
    .arrive = ccf_pack,
    .shed = ccf_pack_shed,
};

int main(int argc, char **argv) {
    return ccf_main(&request, argc, argv);
}
