/* value.c: the policy `custom` of option fileCache: the value of a file is what %cache says.
 *
 * Code that does not return would hold the service process for ever, and nobody would notice. A
 * timer, which counts what the process computes, looks whether the same call still runs. State: the
 * number of the call, and what the timer saw last. */
#include "../../platform/platform.h"
#include "store.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

enum { VALUE_LOOK_S = 1 };

nest__policy_value nest__spec_cache; /* the code of %cache */

static _Atomic uint64_t value_call; /* scope: process; even: none runs */
static uint64_t value_seen;         /* scope: process; used by the signal handler only */

static void value_look(int signal) {
    uint64_t call = atomic_load(&value_call);
    (void)signal;
    if (call % 2 == 1 && call == value_seen) {
        nest__crash_end("ended, because the code of %cache does not return:", "");
    }
    value_seen = call;
}

static void value_watch(void) {
    struct sigaction look = {.sa_handler = value_look, .sa_flags = (int)(SA_ONSTACK | SA_RESTART)};
    const struct itimerval each = {{VALUE_LOOK_S, 0}, {VALUE_LOOK_S, 0}};
    sigemptyset(&look.sa_mask);
    sigaction(SIGVTALRM, &look, NULL);
    (void)setitimer(ITIMER_VIRTUAL, &each, NULL);
}

static double value_of(uint64_t size, uint64_t uses, uint64_t now, double least) {
    if (atomic_fetch_add(&value_call, 1) == 0) {
        value_watch();
    }
    double value = nest__spec_cache(size, uses, now, least);
    atomic_fetch_add(&value_call, 1);
    return value;
}

nest__policy_value *const nest__contents_value = value_of;
