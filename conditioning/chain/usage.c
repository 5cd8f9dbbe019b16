/* What cc-chain's command line is, for --help and for those who have got it wrong. */
#include "chain.h"

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
