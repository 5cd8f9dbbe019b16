/* What cc-chain's command line is, for --help and for those who have got it wrong. */
#include "chain.h"

#include <string.h>

int usage(const char *what) {
    if (what != NULL)
        say("%s", what);
    fprintf(
        what != NULL ? stderr : stdout,
        "usage: cc-chain [OPTIONS] FILTER... -- SERVER [ARGUMENT...]\n"
        "       cc-chain --status SOCKET [status | metrics | 'chain FILTER...']\n\n"
        "FILTER is NAME[,key=value]...; the first one accepts the clients.\n"
        "  --config FILE    reads filters from FILE, one per line, and again at HUP\n"
        "  --state SOCKET   shows counters and accepts commands on SOCKET\n"
        "  --peek           the server reads requests from its clients' sockets itself\n"
        "  --returns        with --peek: it gives a connection back after each request\n"
        "  --follow         with --peek: it is known when the server has finished with a "
        "connection\n"
        "  --keep FD        filters to which the chain is changed are kept in this file, and\n"
        "                   read from it by the next chain\n"
        "  --check          judges the filters and their order, and starts nothing\n"
        "  --restarts NUMBER  how often the chain was started before\n"
        "  --drain SECONDS  how long clients may continue after TERM; default 30\n"
        "  --wait SECONDS   when to say that the server has asked for no filters; default 10\n");
    return what != NULL ? WRONG_CALL : 0;
}

int usage_of(const char *option, const char *what, const char *value) {
    char text[512];
    bool shows = value != NULL;
    snprintf(text, sizeof text, "%s %s%s%s%s", option, what, shows ? ", not '" : "",
             shows ? value : "", shows ? "'" : "");
    return usage(text);
}

bool usage_has_value(const char *option) {
    static const char *const all[] = {"--status", "--config",   "--state", "--serve",
                                      "--keep",   "--restarts", "--drain", "--wait"};
    size_t i = 0;
    while (i < sizeof all / sizeof all[0] && strcmp(all[i], option) != 0)
        i++;
    return i < sizeof all / sizeof all[0];
}

/* Some options are those of cc-condition. */
int usage_unknown(const char *option) {
    char text[512];
    const char *instead = strcmp(option, "--metrics") == 0 ? ": write --status SOCKET metrics"
                          : strcmp(option, "--change") == 0
                              ? ": write --status SOCKET 'chain FILTER...'"
                          : strcmp(option, "--filter") == 0 ? ": write filters without it"
                                                            : "";
    snprintf(text, sizeof text, "there is no option %s%s", option, instead);
    return usage(text);
}
