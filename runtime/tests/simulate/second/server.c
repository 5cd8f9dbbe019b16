/* server.c: the simulated server whose actions open second connections, one unit with the whole
 * runtime; and the runs.
 *
 * The script has no network: what servers with sockets have for second connections is included
 * here, with the functions of sockets.c in place of the system's. ../life.c has the arguments. */
#include "../sizes.h"
#include "../../../seam.h"

/* The join points and the files, as simulate.py asks for them. */
#include SIMULATE_UNIT

#include "second.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Begin tables */
#include SIMULATE_TABLES
/* End tables */

#define nest__chan_half_close side_half_close
#define nest__wait_in_fiber act_wait
#include "channel/splice.c"
#include "engine/any.c"
#include "engine/bytes.c"
#include "engine/relay.c"
#include "engine/second.c"
#undef nest__chan_half_close
#undef nest__wait_in_fiber
#include "loop/many.c"
#include "service/dial/address.c"

#include "sockets.c"

#define socket(family, type, protocol) sock_socket(family, type, protocol)
#define connect sock_connect
#define setsockopt sock_setsockopt
#define getsockopt sock_getsockopt
#define close sock_close
#include "service/dial/dial.c"
#undef socket
#undef connect
#define socket(family, type, protocol) sock_listener(family, type, protocol)
#define bind sock_bind
#define listen(fd, queue) sock_listen(fd, queue)
#define getsockname sock_getsockname
#define accept4 sock_accept4
#define nest__peer_bytes sock_peer_bytes
#define nest__reset_at_close sock_reset_at_close
#include "service/dial/listen.c"
#undef socket
#undef bind
#undef listen
#undef setsockopt
#undef getsockopt
#undef getsockname
#undef accept4
#undef close
#undef nest__peer_bytes
#undef nest__reset_at_close

#include "../random.c"

#include "sides.c"

#include "acts.c"
#include "several.c"

#include "../print.c"

#include "draw.c"

struct nest__config nest__config = {.helpers = 2};
const char nest__spec_name[] = "second";
const char nest__spec_file[] = "second";
const char nest__model_name[] = "script";
const char nest__tool_version[] = "by hand";
const struct nest__option nest__options[] = {{"idleTimeout", NEST__DURATION,
                                              &nest__config.idle_timeout, 1, NEST__LONGEST, "5m",
                                              "", true, NULL, NULL}};
const unsigned nest__option_count = 1;
const struct nest__timer nest__timers[1];
const size_t nest__spec_vars_size = 0;
const bool nest__has_start = true;
const bool nest__has_overload = false;
const char *const nest__state_names[] = {"START", "DEFAULT"};
const unsigned nest__state_count = 2;

struct sim sim;
struct second second;

void nest__spec_vars_init(nest_session *s, void *vars) {
    (void)s, (void)vars;
}

#include "../stateless.c"

#define BROKEN_MS nest__now()
#include "../broken.c"

#include "../said.c"

void nest__say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    sim_said(format, arguments);
    va_end(arguments);
}

static void run_begin(void) {
    sim.most = 1 + sim_random(8);
    second.later = sim_chance(30);
    second.reset = DRAW(0, 1, 4);
    second.stall = DRAW(0, 0, 5, 15);
    second.never = DRAW(5, 30);
    second.faults = DRAW(0, 0, 0, 2);
    nest__config.input_buffer = DRAW(64, 300, 4096);
    nest__config.output_buffer = DRAW(64, 500, 8192);
    nest__config.read_timeout = DRAW(300, 2000, 2000);
    nest__config.write_timeout = DRAW(500, 3000);
    nest__config.idle_timeout = DRAW(1000, 4000);
    nest__config.linger_timeout = DRAW(0, 1000);
    nest__config.drain_timeout = DRAW(0, 500, 4000);
}

/* In a script a server ends late: the time for those that are cut is over, and closes may not have
 * completed. */
_Noreturn static void run_abandoned(void) {
    for (const struct call *call = second.calls; call != NULL; call = call->next) {
        if (!nest__loop.cut || call->acting || (call->session != NULL && !call->over)) {
            sim_broken(NULL, "the server has ended without conversation %u", (unsigned)call->who);
        }
    }
    _exit(EXIT_SUCCESS);
}

/* A server's life. */
static int run(uint64_t seed, uint32_t conversations, bool verbose) {
    sim.seed = seed;
    sim.conversations = conversations;
    sim.verbose = verbose;
    run_begin();
    clearenv();
    long held = nest__faults_held;
    if (nest__workers_prepare() != 0 || nest__on_start() != 0) {
        return 1;
    }
    int status = nest__workers_run();
    if (nest__loop.phase == NEST__FINISHED) {
        run_abandoned();
    }
    if (status != (nest__cut() > 0 ? 1 : 0)) {
        sim_broken(NULL, "the server's exit status is %d", status);
    }
    if (second.calls != NULL || second.sides != NULL || nest__slots_taken() != 0) {
        sim_broken(NULL, "the server has stopped, and %u channels are left",
                   (unsigned)second.sides_n);
    }
    if (second.lookups != 0) {
        sim_broken(NULL, "%u lookups are left", (unsigned)second.lookups);
    }
    if (nest__faults_held != held) {
        sim_broken(NULL, "%ld allocations are left", nest__faults_held - held);
    }
    return 0;
}

#include "../life.c"
