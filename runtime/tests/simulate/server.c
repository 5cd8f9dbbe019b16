/* server.c: the simulated server, one unit with the whole runtime; and the runs.
 * life.c has the arguments. */
#define NEST__RULES 20
#define NEST__CONDITIONS 2
#define NEST__STANDALONE 20
#include "../features.h"
#define NEST__LOSSY sim.lossy
#define NEST__PARTS 7
#define NEST__THREAD_WORDS 96
#define NEST__NFA_STATES 48
#define NEST__TIMERS 3
#ifndef NEST__MESSAGES
#define NEST__MESSAGES 0
#endif
#ifndef SIMULATE_MEETS
#define SIMULATE_MEETS 0 /* conversations send to each other */
#endif
#include "../../seam.h"

/* The join points and the files, as simulate.py asks for them. */
#include SIMULATE_UNIT

/* Begin tables */
#include SIMULATE_TABLES
/* End tables */

#include "random.c"

#include "talk.c"

#include "moments.c"

#include "acts.c"
#include "files.c"
#include "lines.c"
#include "meet.c"
#include "newcomers.c"
#include "post.c"
#include "records.c"
#include "reload.c"

#include "print.c"

#include "draw.c"

#include <stdio.h>

struct nest__config nest__config;
const char nest__spec_name[] = "simulate";
const char nest__spec_file[] = "simulate";
const char nest__model_name[] = "script";
const char nest__tool_version[] = "by hand";

static unsigned run_descriptors(void) {
    unsigned count = 0;
    for (int fd = 0; fd < 256; fd++) {
        count += fcntl(fd, F_GETFD) != -1;
    }
    return count;
}

static long run_texts(void) {
    long count = 0;
    for (const struct value_kept *kept = value_texts; kept != NULL; kept = kept->next) {
        count++;
    }
    return count;
}

/* The server has ended without those whose actions wait for work. Like main, ends the process at
 * once: their actions keep memory, and would seem to call exit. */
_Noreturn static void run_abandoned(int status) {
    uint32_t left = nest__slots_taken();
    for (uint32_t slot = 0; slot < nest__slots_ever(); slot++) {
        const nest_session *s = nest__slot_at(slot);
        left -= (s->flags & NEST__WAITING) != 0 && nest__wait_what(s) == NEST__WORK;
        left -= s->phase == NEST__LEAVING || s->phase == NEST__ENDED; /* not yet completed */
    }
    if (status != NEST__ABANDONED || !nest__loop.cut || left != 0) {
        sim_broken(NULL, "the server has ended without %u that do not wait for work",
                   (unsigned)left);
    }
    _exit(EXIT_SUCCESS);
}

/* A server's life. */
static int run(uint64_t seed, uint32_t conversations, bool verbose) {
    unsigned descriptors = run_descriptors();
    sim.seed = seed;
    sim.conversations = conversations;
    sim.verbose = verbose;
    draw_begin();
    files_begin();
    clearenv(); /* as start-up code may; what it says of the configuration is drawn */
    long held = nest__faults_held - run_texts(); /* for ever; the rest of a configuration too */
    if (nest__workers_prepare() != 0 || nest__mail_start() != 0) {
        return 1;
    }
    int status = nest__workers_run();
    if (nest__loop.phase == NEST__FINISHED) {
        run_abandoned(status);
    }
    bool cut = nest__cut() > 0;
    if (status != (cut ? 1 : 0)) {
        sim_broken(NULL, "the server's exit status is %d, and %llu were cut", status,
                   (unsigned long long)nest__cut());
    }
    if (cut && !nest__loop.cut) {
        sim_broken(NULL, "some were cut, and drainTimeout is not over");
    }
    if (sim.talks != NULL || sim.lines != NULL || nest__slots_taken() != 0) {
        sim_broken(sim.talks, "the server has stopped, and a conversation is left");
    }
    held += post_end();
    if (nest__faults_held - run_texts() != held) {
        sim_broken(NULL, "%ld allocations are left", nest__faults_held - run_texts() - held);
    }
    files_closed();
    files_end();
    reload_end();
    if (run_descriptors() != descriptors + 1) { /* the file that never changes */
        sim_broken(NULL, "descriptors are left");
    }
    return 0;
}

#include "life.c"
