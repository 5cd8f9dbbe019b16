/* signals.c: runs the code of each %signal in the service process when the server gets the signal.
 *
 * The supervisor, whose process id is the server's, catches it and tells the service process by
 * memory that both share. State: which signals have come. One that comes again before its code has
 * begun is one with the first, as signals are. Other processes ignore it: it may be sent to all. */
#include "signals.h"
#include "../../platform/platform.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIGNALS_LONG_MS = 1000 };

/* scope: server */
static struct {
    pid_t home;
    int told;                  /* eventfd: something has come */
    _Atomic uint64_t *pending; /* bits of nest__spec_signals */
} signals;

/* Async-signal-safe. */
static void signals_catch(int number) {
    int error = errno;
    const uint64_t one = 1;
    for (unsigned i = 0; getpid() == signals.home && i < nest__spec_signals_count; i++) {
        if (nest__spec_signals[i].number == number) {
            atomic_fetch_or(signals.pending, UINT64_C(1) << i);
            (void)!write(signals.told, &one, sizeof one);
        }
    }
    errno = error;
}

int nest__signals_start(void) {
    struct sigaction caught = {.sa_handler = signals_catch, .sa_flags = SA_RESTART};
    void *page = mmap(NULL, sizeof *signals.pending, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    signals.told = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (page == MAP_FAILED || signals.told == -1) {
        nest__say("cannot start: no memory or descriptor for %%signal");
        return -ENOMEM;
    }
    signals.home = getpid();
    signals.pending = page;
    for (unsigned i = 0; i < nest__spec_signals_count; i++) {
        if (sigaction(nest__spec_signals[i].number, &caught, NULL) == -1) {
            return -errno;
        }
    }
    return 0;
}

/* -- in the service process ----------------------------------------------------------------------
 */

static int signals_begin(void) {
    return 0;
}

static unsigned signals_waits(struct pollfd waits[NEST__TASK_WAITS]) {
    waits[0] = (struct pollfd){.fd = signals.told, .events = POLLIN};
    return 1;
}

/* Also runs what came while there was no such process. */
static int signals_work(const struct pollfd waits[NEST__TASK_WAITS], unsigned n) {
    uint64_t count;
    (void)waits, (void)n;
    (void)!read(signals.told, &count, sizeof count);
    for (unsigned i = 0; i < nest__spec_signals_count; i++) {
        uint64_t bit = UINT64_C(1) << i; /* one by one: the code of one may end this process */
        if ((atomic_fetch_and(signals.pending, ~bit) & bit) == 0) {
            continue;
        }
        const struct nest__signal *signal = &nest__spec_signals[i];
        uint64_t before = nest__clock_ms();
        signal->run();
        uint64_t took = nest__clock_ms() - before;
        if (took >= SIGNALS_LONG_MS) {
            nest__say("%%signal at %s:%u ran for %llu ms", signal->file, (unsigned)signal->line,
                      (unsigned long long)took);
        }
    }
    return -1;
}

const struct nest__task nest__signals_task = {"%signal", signals_begin, signals_waits, signals_work,
                                              NULL};
