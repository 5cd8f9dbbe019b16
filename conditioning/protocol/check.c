/* A generated `check`: refuses packaged requests that are not one message of the protocol.
 * Must not know: the protocol, of which protocol.h tells what is needed; how requests are packaged.
 */
#include "protocol.h"

#include <stdio.h>

static char about[100], size[80];

static const struct ccf_option options[] = {
    {"size", CCF_SIZE, &ccf_protocol.automaton.most, 1, 32768, NULL, size}, {0}};

static void arrive(struct ccf_bundle *bundle) {
    size_t n;
    const char *bytes = ccf_head(bundle, &n);
    const struct ccf_automaton *automaton = &ccf_protocol.automaton;
    if (bytes == NULL)
        ccf_refuse(bundle, "no memory", NULL);
    else if (bundle->length > n || n > (size_t)automaton->most)
        ccf_refuse(bundle, "oversized", NULL);
    else if (!ccf_auto_matches(automaton, bytes, n))
        ccf_refuse(bundle, "malformed", NULL);
    else
        ccf_pass(bundle);
}

static struct ccf_filter check = {
    .name = "check",
    .about = about,
    .options = options,
    .needs = CCF_REQUESTS,
    .gives = CCF_REQUESTS,
    .arrive = arrive,
};

int main(int argc, char **argv) {
    struct ccf_protocol *p = &ccf_protocol;
    if (p->automaton.most > 32768)
        p->automaton.most = 32768;
    snprintf(about, sizeof about, "refuses requests that are not a first message of %.40s",
             p->name);
    snprintf(size, sizeof size, "longest request, default %ld", p->automaton.most);
    return ccf_main(&check, argc, argv);
}
