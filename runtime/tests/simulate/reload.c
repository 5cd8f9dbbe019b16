/* reload.c: the configuration of the simulated server: drawn, written to a file, read again.
 *
 * Called by draw.c for the commands, by moments.c for what has held since when. State: what must be
 * in force, and everything that was. A configuration holds whole or not at all, from the moment on
 * at which it is read again. */
#include "simulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RELOAD_NAME = SIM_LIMITS, RELOAD_INPUT, RELOAD_HELPERS, RELOAD_OPTIONS };

const struct nest__option nest__options[] = {
    {"readTimeout", NEST__DURATION, &nest__config.read_timeout, 1, NEST__LONGEST, "30s", "", true,
     NULL, NULL},
    {"writeTimeout", NEST__DURATION, &nest__config.write_timeout, 1, NEST__LONGEST, "30s", "", true,
     NULL, NULL},
    {"idleTimeout", NEST__DURATION, &nest__config.idle_timeout, 1, NEST__LONGEST, "5m", "", true,
     NULL, NULL},
    {"lingerTimeout", NEST__DURATION, &nest__config.linger_timeout, 1, NEST__LONGEST, "2s", "",
     true, NULL, NULL},
    {"drainTimeout", NEST__DURATION, &nest__config.drain_timeout, 1, NEST__LONGEST, "5s", "", true,
     NULL, NULL},
    {"outputBuffer", NEST__SIZE, &nest__config.output_buffer, 1, 1u << 30, "64K", "", true, NULL,
     NULL},
    {"keepLimit", NEST__SIZE, &nest__config.keep_limit, 0, 1u << 30, "64K", "", true, NULL, NULL},
    {"serverName", NEST__TEXT, &nest__config.server_name, 0, 0, "name0", "", true, NULL, NULL},
    {"inputBuffer", NEST__SIZE, &nest__config.input_buffer, 16, 1u << 30, "8K", "", false, NULL,
     NULL},
    {"helpers", NEST__NUMBER, &nest__config.helpers, 1, 64, "4", "", false, NULL, NULL},
};
const unsigned nest__option_count = sizeof nest__options / sizeof nest__options[0];
_Static_assert(sizeof nest__options / sizeof nest__options[0] == RELOAD_OPTIONS, "options");
static const uint32_t reload_initial[] = {30000, 30000, 300000, 2000, 5000,
                                          65536, 65536, 0,      8192, 4};

struct reload_law {
    uint32_t from, values[RELOAD_OPTIONS];
};
static char reload_path[128];
static uint32_t reload_drawn[RELOAD_OPTIONS];
static struct reload_law *reload_laws; /* in force, one after the other; the last is now */
static uint32_t reload_count, reload_cap, reload_struck;
static bool reload_drew, reload_mistaken; /* since the last check; with a mistake */

static uint32_t reload_draw_value(unsigned option) {
    switch (option) {
    case SIM_LIMIT_READ:
        return DRAW(0, 50, 400, 1500, 30000);
    case SIM_LIMIT_WRITE:
        return DRAW(0, 50, 400, 30000);
    case SIM_LIMIT_IDLE:
        return DRAW(0, 60, 500, 300000);
    case SIM_LIMIT_LINGER:
        return DRAW(0, 1, 3600000);
    case SIM_LIMIT_DRAIN:
        return DRAW(0, 1, 100, 5000);
    case SIM_LIMIT_OUTPUT:
        return DRAW(1, 16, 100, 1000, 3000, 65536);
    case SIM_LIMIT_KEEP:
        return DRAW(100, 1000);
    case RELOAD_NAME:
        return sim_random(3);
    case RELOAD_INPUT:
        return DRAW(64, 100, 512, 8192);
    default:
        return 1 + sim_random(4);
    }
}

static void reload_mistake(FILE *file) {
    static const char *const lines[] = {"keepLimits 5",   "readTimeout soon", "idleTimeout",
                                        "outputBuffer 0", "writeTimeout 25h", "keepLimit 4G"};
    fprintf(file, "%s\n", lines[sim_random(sizeof lines / sizeof lines[0])]);
}

/* What was drawn; of options that are left out, what is built in. */
static void reload_write(bool mistaken) {
    FILE *file = fopen(reload_path, "w");
    unsigned wrong = sim_random(RELOAD_OPTIONS + 1);
    for (unsigned i = 0; i <= RELOAD_OPTIONS; i++) {
        if (mistaken && i == wrong) {
            reload_mistake(file);
        }
        if (i == RELOAD_OPTIONS || reload_drawn[i] == reload_initial[i]) {
            continue;
        }
        const struct nest__option *option = &nest__options[i];
        fprintf(file, "%s ", option->name);
        if (option->kind == NEST__DURATION && reload_drawn[i] == 0) {
            fprintf(file, "none\n");
        } else {
            fprintf(file, option->kind == NEST__TEXT ? "name%u\n" : "%u%s\n",
                    (unsigned)reload_drawn[i], option->kind == NEST__DURATION ? "ms" : "");
        }
    }
    if (fclose(file) != 0) {
        sim_broken(NULL, "the configuration cannot be written");
    }
}

static bool reload_in_force(const struct reload_law *law) {
    char name[16];
    for (unsigned i = 0; i < RELOAD_OPTIONS; i++) {
        const struct nest__option *option = &nest__options[i];
        if (option->kind != NEST__TEXT && *(const uint32_t *)option->value != law->values[i]) {
            return false;
        }
    }
    snprintf(name, sizeof name, "name%u", (unsigned)law->values[RELOAD_NAME]);
    return strcmp(nest_server_name(), name) == 0;
}

static void reload_law(const struct reload_law *law) {
    if (reload_count == reload_cap) {
        reload_cap = reload_cap * 2 + 8;
        reload_laws = (realloc)(reload_laws, reload_cap * sizeof *reload_laws);
    }
    reload_laws[reload_count++] = *law;
}

void reload_begin(void) {
    static char option[] = "--config", *arguments[] = {reload_path, option, reload_path, NULL};
    struct reload_law law = {.from = nest__now()};
    enum nest__request request;
    const char *base = getenv("TMPDIR");
    snprintf(reload_path, sizeof reload_path, "%s/config-XXXXXX", base == NULL ? "/tmp" : base);
    int fd = mkstemp(reload_path);
    if (fd == -1 || close(fd) != 0) {
        sim_broken(NULL, "no file for the configuration");
    }
    for (unsigned i = 0; i < RELOAD_OPTIONS; i++) {
        law.values[i] = reload_drawn[i] = reload_draw_value(i);
    }
    reload_write(false);
    reload_law(&law);
    if (nest__config_read(3, arguments, &request) != 0 || !reload_in_force(&law)) {
        sim_broken(NULL, "the configuration is not read as it is written");
    }
}

void reload_end(void) {
    unlink(reload_path);
}

/* Some change, some do not. */
void reload_draw(void) {
    for (unsigned i = 0; i < RELOAD_OPTIONS; i++) {
        reload_drawn[i] = sim_chance(60)   ? reload_laws[reload_count - 1].values[i]
                          : sim_chance(10) ? reload_initial[i]
                                           : reload_draw_value(i);
    }
    reload_mistaken = sim_chance(25);
    reload_write(reload_mistaken);
    if (reload_mistaken && sim_chance(10)) {
        unlink(reload_path); /* it was asked for by name */
    }
    reload_drew = true;
    reload_struck = nest__faults_struck;
    for (struct sim_talk *talk = sim.talks; talk != NULL; talk = talk->next) {
        const struct nest__work *work = talk->session == NULL ? NULL : talk->session->work;
        talk->out_before = work == NULL ? 0 : work->out.queue.n;
        talk->kept_before = work == NULL ? 0 : work->services.keep.n;
    }
}

/* After each step. */
void reload_check(void) {
    struct reload_law law = reload_laws[reload_count - 1];
    if (reload_drew && !reload_mistaken) {
        law.from = nest__now();
        memcpy(law.values, reload_drawn, RELOAD_INPUT * sizeof law.values[0]);
        if (nest__faults_struck == reload_struck || reload_in_force(&law)) {
            reload_law(&law);
        }
    }
    reload_drew = false;
    if (!reload_in_force(&reload_laws[reload_count - 1])) {
        sim_broken(NULL, "what is in force is not what was read last without a mistake");
    }
}

unsigned reload_limits(enum sim_limit what, uint32_t since, uint32_t to[SIM_LAWS]) {
    unsigned count = 0;
    for (uint32_t i = reload_count; i > 0 && count < SIM_LAWS; i--) {
        const struct reload_law *law = &reload_laws[i - 1];
        unsigned at = 0;
        while (at < count && to[at] != law->values[what]) {
            at++;
        }
        to[at] = law->values[what];
        count += at == count;
        if ((int32_t)(law->from - since) < 0) {
            break;
        }
    }
    return count;
}
