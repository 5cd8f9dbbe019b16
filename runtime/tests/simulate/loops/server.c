/* server.c: the simulated server of several loops, one unit with the whole runtime.
 *
 * As ../server.c, but each life has two or three loops, which are processes. ../life.c has the
 * arguments. */
#define NEST__RULES 1
#define NEST__CONDITIONS 1
#define NEST__STANDALONE 1
#include "../../features.h"
#define NEST__LOSSY sim->lossy
#define NEST__PARTS 2
#define NEST__THREAD_WORDS 16
#define NEST__NFA_STATES 16
#define NEST__TIMERS 1
#define NEST__MESSAGES 0
#include "../../../seam.h"

/* The join points and the files, as simulate.py asks for them. */
#include SIMULATE_UNIT

#include "loops.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

/* What servers with several loops have, where a script has something simpler. A process may
 * be stopped before each access to memory that others see. */
#include "workers/shared.c"
#undef atomic_store
#undef atomic_load
#define atomic_store(place, value)                                                                 \
    (sim_point(), atomic_store_explicit(place, value, memory_order_seq_cst))
#define atomic_load(place) (sim_point(), atomic_load_explicit(place, memory_order_seq_cst))
#include "service/alive/alive.c"
#include "service/mail/serve.c"
#include "workers/mailbox_rings.c"
#define nest__mail_send book_send
#include "service/groups/published.c"
#undef nest__mail_send
#define pthread_mutex_lock turns_lock
#define nanosleep(pause, left) ((void)(pause), sim_yield())
#define nest__spec_shared_recovers (sim->asks)
static int turns_lock(pthread_mutex_t *);
#include "service/region/lock.c"
#undef pthread_mutex_lock
#undef nanosleep

/* Begin tables */
#include SIMULATE_TABLES
/* End tables */

#include "turns.c"

#include "acts.c"
#include "book.c"
#include "clients.c"
#include "variables.c"

struct nest__config nest__config;
const char nest__spec_name[] = "loops";
const char nest__spec_file[] = "loops";
const char nest__model_name[] = "script";
const char nest__tool_version[] = "by hand";
const struct nest__option nest__options[] = {{"idleTimeout", NEST__DURATION,
                                              &nest__config.idle_timeout, 1, NEST__LONGEST, "5m",
                                              "", true, NULL, NULL}};
const unsigned nest__option_count = 1;

#include "../life.c"
