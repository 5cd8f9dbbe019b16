/* The beginning of every filter: its arguments, its descriptors, its loop.
 *
 * FILTER --check [KEY=VALUE...] judges options and prints what the filter needs and gives, for
 * cc-chain. Exit status: 0 finished, 100 wrong call, 111 temporary failure. */
#define _GNU_SOURCE
#include "frame.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum { WRONG_CALL = 100, TEMPORARY = 111 };

struct ccf_filter *ccf__filter;
struct ccf__counters *ccf__count;

bool ccf_peeks(void) {
    return getenv("CC_PEEK") != NULL;
}

bool ccf_inside(void) {
    return getenv("CC_INSIDE") != NULL;
}

static const char *stage(enum ccf_stage s) {
    return s == CCF_CONNECTIONS ? "connections" : s == CCF_REQUESTS ? "requests" : "any";
}

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", ccf__filter->name, what);
    return TEMPORARY;
}

/* Whether the descriptors are what cc-chain gives to a filter. */
static bool started_by_chain(void) {
    for (int fd = CCF__IN; fd <= CCF__CONTROL; fd++) {
        int type = 0;
        socklen_t size = sizeof type;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == -1)
            return false;
    }
    return fcntl(CCF__COUNTERS, F_GETFD) != -1;
}

int ccf_main(struct ccf_filter *filter, int argc, char **argv) {
    ccf__filter = filter;
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        ccf__help(filter);
        return 0;
    }
    bool check = argc > 1 && strcmp(argv[1], "--check") == 0;
    if (!ccf__options(filter, argc - 1 - check, argv + 1 + check))
        return WRONG_CALL;
    if (check) {
        printf("%s %s %u\n", stage(filter->needs), stage(filter->gives), filter->traits);
        return 0;
    }
    if (!started_by_chain()) {
        fprintf(stderr, "%s: start it with cc-chain; see %s --help\n", filter->name, filter->name);
        return WRONG_CALL;
    }
    prctl(PR_SET_NAME, filter->name);
    for (int fd = CCF__IN; fd <= CCF__COUNTERS; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN); /* the chain says when to finish */
    signal(SIGHUP, SIG_IGN);
    const char *place = getenv("CC_PLACE");
    ccf__count = mmap(NULL, sizeof *ccf__count, PROT_READ | PROT_WRITE, MAP_SHARED, CCF__COUNTERS,
                      place != NULL ? atol(place) * CCF__PLACE : 0);
    if (ccf__count == MAP_FAILED)
        return fail("cannot map its counters");
    ccf__count->held = ccf__count->oldest = 0;
    if (!ccf__loop_start() || (filter->start != NULL && !filter->start()) || !ccf__down_start() ||
        !ccf__control_start() || !ccf__up_start())
        return fail("cannot start: no memory or descriptors");
    ccf__loop();
    return 0;
}
