/* server.c: a server as the compiler would emit it, by hand: drives the runtime without the
 * compiler.
 *
 * SAMPLE_UNIT names the file that nest-runtime has printed for the model, SAMPLE_NAME the model. */
#define NEST__RULES 19
#define NEST__CONDITIONS 2
#define NEST__STANDALONE 19
#include "../features.h"
#define NEST__LOSSY 1
#define NEST__PARTS 6
#define NEST__THREAD_WORDS 96
#define NEST__NFA_STATES 48
#define NEST__TIMERS 4
#ifndef NEST__MESSAGES
#define NEST__MESSAGES 0
#endif
#include "../../seam.h"

/* The join points and the files of the model. */
#include SAMPLE_UNIT

/* Begin tables */
#include SAMPLE_TABLES
/* End tables */

const char *const nest__state_names[] = {"START", "DEFAULT", "NAMED", "DEAD", "TICK", "HUSH"};
const unsigned nest__state_count = 6;
const char nest__spec_name[] = "sample";
const char nest__spec_file[] = "sample.nest";
const char nest__model_name[] = SAMPLE_NAME;
const char nest__tool_version[] = "by hand";
const bool nest__has_start = true;
const bool nest__has_overload = false;

/* Bit 0: all rules but one; bit 1: keep. */
bool nest__spec_active(uint64_t states, unsigned last, struct nest__active *active) {
    (void)last;
    bool alive = (states & 1u << 3) == 0; /* !DEAD */
    bool named = (states & 1u << 2) != 0; /* NAMED */
    active->bits[0] = (uint64_t)alive | (uint64_t)(alive && named) << 1;
    return alive;
}

unsigned nest__spec_standalone(const struct nest__active *active, uint16_t *rules) {
    unsigned n = 0;
    for (uint16_t rule = 0; rule < NEST__RULES; rule++) {
        if ((active->bits[0] >> (rule == 8) & 1) != 0) {
            rules[n++] = rule;
        }
    }
    return n;
}

struct nest__step nest__spec_run(struct nest__run *run, uint64_t states, unsigned last,
                                 const uint8_t *start, const uint8_t *p, const uint8_t *end) {
    (void)end;
    if (p == start) {
        nest__spec_active(states, last, &run->active);
    }
    return (struct nest__step){0, p == start ? 0 : run->best_n};
}

/* Two of a second: the first written fires. In HUSH one fires that takes what is unread. */
const struct nest__timer nest__timers[] = {{"line 90", "sample.nest", 90, 1000},
                                           {"line 91", "sample.nest", 91, 400},
                                           {"line 92", "sample.nest", 92, 1000},
                                           {"line 93", "sample.nest", 93, 300}};

int nest__spec_timer(uint64_t states, unsigned last) {
    (void)last;
    if ((states & 1u << 5) != 0) { /* HUSH */
        return 3;
    }
    if ((states & 1u << 4) == 0) { /* TICK */
        return -1;
    }
    return (states & 1u << 2) != 0 ? 1 : 0; /* NAMED */
}

const struct nest__option nest__options[] = {
    {"maxClients", NEST__NUMBER, &nest__config.max_clients, 1, 1000000, "1000", "clients at once",
     false, NULL, NULL},
    {"inputBuffer", NEST__SIZE, &nest__config.input_buffer, 16, 1u << 30, "8K", "longest message",
     false, NULL, NULL},
    {"outputBuffer", NEST__SIZE, &nest__config.output_buffer, 1, 1u << 30, "64K", "queued output",
     true, NULL, NULL},
    {"keepLimit", NEST__SIZE, &nest__config.keep_limit, 0, 1u << 30, "64K", "$keep of a client",
     true, NULL, NULL},
    {"serverPort", NEST__NUMBER, &nest__config.server_port, 0, 65535, "8080", "TCP port", false,
     NULL, NULL},
    {"serverName", NEST__TEXT, &nest__config.server_name, 0, 0, "sample", "its name", true, NULL,
     NULL},
    {"minSpare", NEST__NUMBER, &nest__config.min_spare, 1, 32000, "5", "workers that wait", true,
     NULL, NULL},
    {"maxSpare", NEST__NUMBER, &nest__config.max_spare, 1, 32000, "20", "workers that wait", true,
     NULL, NULL},
    {"dispatchers", NEST__COUNT, &nest__config.dispatchers, 1, NEST__DISPATCHERS_MOST, "1", "loops",
     true, NULL, NULL},
    {"user", NEST__TEXT, &nest__config.user, 0, 0, "", "who serves", false, NULL, NULL},
    {"chroot", NEST__TEXT, &nest__config.chroot, 0, 0, "", "their root directory", false, NULL,
     NULL},
    {"listen", NEST__ADDRESSES, &nest__config.listen, 0, 16, NULL, "where it listens", false, NULL,
     NULL},
    {"readTimeout", NEST__DURATION, &nest__config.read_timeout, 1, NEST__LONGEST, "30s",
     "for a message", true, NULL, NULL},
    {"writeTimeout", NEST__DURATION, &nest__config.write_timeout, 1, NEST__LONGEST, "30s",
     "for output", true, NULL, NULL},
    {"minimumRate", NEST__SIZE, &nest__config.minimum_rate, 0, 1u << 30, "0", "bytes a second",
     true, NULL, NULL},
    {"idleTimeout", NEST__DURATION, &nest__config.idle_timeout, 1, NEST__LONGEST, "5m",
     "between messages", true, NULL, NULL},
    {"lingerTimeout", NEST__DURATION, &nest__config.linger_timeout, 1, NEST__LONGEST, "2s",
     "for a client to close", true, NULL, NULL},
    {"drainTimeout", NEST__DURATION, &nest__config.drain_timeout, 1, NEST__LONGEST, "5s",
     "for a stop", true, NULL, NULL},
};
const unsigned nest__option_count = sizeof nest__options / sizeof nest__options[0];
