/* small.c: a specification of four rules, and clients that send such messages. See small.h.
 *
 * Included by shares.c and marks.c, which supply the actions. State: the clients. */
#include "small.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct nest__config nest__config = {.input_buffer = 8192, .output_buffer = 65536, .helpers = 2};
const char nest__spec_name[] = "simulate";
const char nest__spec_file[] = "simulate";
const char nest__model_name[] = "script";
const char nest__tool_version[] = "by hand";
const struct nest__option nest__options[] = {
    {"helpers", NEST__NUMBER, &nest__config.helpers, 1, 64, "4", "", false, NULL, NULL}};
const unsigned nest__option_count = 1;
const struct nest__timer nest__timers[1];
const size_t nest__spec_vars_size = 0;
const bool nest__has_start = true;
const char *const nest__state_names[] = {"START", "DEFAULT"};
const unsigned nest__state_count = 2;

struct sim sim;
struct small_client *small_clients;
uint32_t small_sleeps;
unsigned nest__command_number;

void nest__spec_vars_init(nest_session *s, void *vars) {
    (void)s, (void)vars;
}

#include "stateless.c"

#define BROKEN_MS nest__now()
#include "broken.c"

#include "said.c"

void nest__say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    sim_said(format, arguments);
    va_end(arguments);
}

/* -- clients */

struct small_client *small_open(void) {
    struct small_client *client = (calloc)(1, sizeof *client);
    client->who = ++sim.opened;
    client->room = UINT32_MAX;
    client->greets = true;
    struct small_client **at = &small_clients; /* in the order in which they open */
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = client;
    sim.live++;
    return client;
}

void small_send(struct small_client *client, const char *message) {
    if (client->due_n == client->due_cap) {
        client->due_cap = client->due_cap * 2 + 64 * SMALL_MESSAGE;
        client->due = (realloc)(client->due, client->due_cap);
    }
    memcpy(client->due + client->due_n, message, SMALL_MESSAGE);
    client->due_n += SMALL_MESSAGE;
    client->quits = client->quits || message[0] == 'Q';
}

static struct small_client *small_find(uint32_t who) {
    struct small_client *client = small_clients;
    while (client != NULL && client->who != who) {
        client = client->next;
    }
    if (client == NULL) {
        sim_broken(NULL, "conversation %u is served, and is closed", (unsigned)who);
    }
    return client;
}

struct small_client *small_of(const nest_session *s) {
    return small_find((uint32_t)s->c0.fd);
}

uint32_t small_waiting(const struct small_client *client) {
    const struct script_client *there = script_client(client->who);
    if (client->session == NULL || there == NULL) {
        return 0;
    }
    return (uint32_t)(client->sent - there->n / SMALL_MESSAGE) - client->taken;
}

/* Whether something reaches the socket of a client that is connected. */
static bool small_flush_one(struct small_client *client) {
    if (client->greets && client->who == script_opened + 1) {
        script_opened++;
        client->greets = false;
        script_client_make(client->who)->room =
            client->room == UINT32_MAX ? UINT64_MAX : client->room;
    }
    struct script_client *there = client->greets ? NULL : script_client(client->who);
    bool some = there != NULL && client->due_n > 0;
    if (some) {
        if (sim.verbose) {
            printf("%u sends %u messages\n", (unsigned)client->who,
                   (unsigned)client->due_n / SMALL_MESSAGE);
        }
        (void)script_sent(there, client->due, client->due_n);
        client->sent += client->due_n / SMALL_MESSAGE;
        script_touch(there);
        client->due_n = 0;
    }
    return some;
}

uint32_t small_flush(void) {
    uint32_t count = 0;
    if (++small_sleeps > SMALL_SLEEPS) {
        sim_broken(NULL, "the loop does not wait for anything, and nothing happens");
    }
    for (struct small_client *client = small_clients; client != NULL; client = client->next) {
        count += small_flush_one(client);
    }
    return count;
}

void small_settled(void) {
    small_sleeps = 0;
    for (const struct small_client *client = small_clients; client != NULL; client = client->next) {
        bool served = client->session != NULL && !client->turned && !client->blocks;
        if (served && client->taken != client->sent) {
            sim_broken(NULL, "conversation %u has sent %u messages, and %u are served",
                       (unsigned)client->who, (unsigned)client->sent, (unsigned)client->taken);
        }
        if (served && client->got != client->taken * SMALL_REPLY) {
            sim_broken(NULL, "conversation %u got %u bytes for %u messages", (unsigned)client->who,
                       (unsigned)client->got, (unsigned)client->taken);
        }
    }
}

void small_ok(nest_session *s) {
    if (nest_reply_bytes(s, "ok\n", SMALL_REPLY) != 0) {
        sim_broken(NULL, "an answer fails: %s", strerror(errno));
    }
}

/* -- what io says of them */

int nest__command_out(uint32_t who, const uint8_t *bytes, size_t n) {
    (void)bytes;
    small_find(who)->got += (uint32_t)n;
    small_sleeps = 0;
    return 0;
}

int nest__command_closed(uint32_t who, bool cut) {
    struct small_client *client = small_find(who), **at = &small_clients;
    if (sim.verbose) {
        printf("%u is %s\n", (unsigned)who, cut ? "cut" : "closed");
    }
    small_closed(client, cut);
    while (*at != client) {
        at = &(*at)->next;
    }
    *at = client->next;
    (free)(client->due);
    (free)(client);
    sim.live--;
    sim.closed++;
    return 0;
}

int small_run(void) {
    clearenv();
    if (nest__workers_prepare() != 0 || nest__on_start() != 0) {
        return 1;
    }
    int status = nest__workers_run();
    if (status != 0 || small_clients != NULL || nest__slots_taken() != 0) {
        sim_broken(NULL, "the server ends with status %d, and %u conversations are left", status,
                   (unsigned)sim.live);
    }
    return 0;
}
