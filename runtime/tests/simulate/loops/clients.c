/* clients.c: what the clients of a loop do, drawn from the seed; in place of poller/command.c.
 *
 * Called by the script's poller, and by join points. State: of a process, who its conversations
 * are. A loop that waits gives up its turn here, so this is where other loops go on. */
#include "loops.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

unsigned nest__command_number;
static uint8_t clients_places[SCRIPT_CLIENTS]; /* by number of a conversation: its place, plus 1 */
static uint32_t clients_opened_n;              /* of this process */

uint32_t client_place(const struct sim_client *client) {
    return (uint32_t)(client - sim->all);
}

static struct sim_client *clients_who(uint32_t who) {
    if (who == 0 || who > clients_opened_n || clients_places[who] == 0) {
        sim_broken("conversation %u is closed, and something comes for it", (unsigned)who);
    }
    return &sim->all[clients_places[who] - 1];
}

struct sim_client *client_of(const nest_session *s) {
    return clients_who((uint32_t)s->c0.fd);
}

/* Its generation is the latest of its slot, so its id is another one than that of each before. */
void clients_opened(nest_session *s) {
    struct sim_client *client = client_of(s);
    uint64_t id = nest_id(s);
    if (client->state != SIM_COMES) {
        sim_broken("client %u is opened twice", (unsigned)client->number);
    }
    for (uint32_t i = 0; i < SIM_IDS; i++) {
        if (sim->ended[i].id == id) {
            sim_broken("client %u has the id of one that has ended", (unsigned)client->number);
        }
    }
    client->id = id;
    client->state = SIM_OPEN;
}

int nest__command_out(uint32_t who, const uint8_t *bytes, size_t n) {
    struct sim_client *client = clients_who(who);
    if (client->reset || n > client->room) {
        sim_broken("client %u gets output that it does not take", (unsigned)client->number);
    }
    client->room -= client->room == UINT64_MAX ? 0 : n;
    book_arrived(client_place(client), bytes, n);
    return 0;
}

int nest__command_closed(uint32_t who, bool cut) {
    struct sim_client *client = clients_who(who);
    bool may_miss = client->reset || cut;
    if (client->state != SIM_CLOSED) {
        sim_broken("client %u is closed before its END", (unsigned)client->number);
    }
    if (!may_miss && (client->given.n > 0 || client->reads != 0)) {
        sim_broken("client %u is closed with messages that never arrived",
                   (unsigned)client->number);
    }
    if (cut && !client->behind) {
        sim_broken("client %u is cut, and was not behind", (unsigned)client->number);
    }
    client->state = SIM_FREE;
    clients_places[who] = 0;
    return 0;
}

/* -- commands */

static struct nest__command clients_verb(enum nest__verb verb, const struct sim_client *client) {
    return (struct nest__command){
        .verb = verb, .who = client == NULL ? 0 : client->who, .room = UINT64_MAX};
}

/* The mailbox's descriptor says that there is mail: a loop that waits has nothing else to go by. */
static bool clients_mailed(void) {
    struct pollfd mail = {.fd = nest__mailbox_fd(), .events = POLLIN};
    return poll(&mail, 1, 0) == 1;
}

static struct sim_client *clients_find(uint32_t at) {
    for (uint32_t place = 0; place < SIM_PLACES; place++) {
        struct sim_client *client = &sim->all[place];
        if (client->state != SIM_FREE && client->loop == sim_own && at-- == 0) {
            return client;
        }
    }
    return NULL;
}

static uint32_t clients_live(void) {
    uint32_t live = 0;
    while (clients_find(live) != NULL) {
        live++;
    }
    return live;
}

static struct nest__command clients_open(void) {
    uint32_t place = 0;
    while (sim->all[place].state != SIM_FREE) {
        place++;
    }
    struct sim_client *client = &sim->all[place];
    memset(client, 0, sizeof *client);
    client->state = SIM_COMES;
    client->number = ++sim->opened;
    client->loop = sim_own;
    client->who = ++clients_opened_n;
    client->room = UINT64_MAX;
    clients_places[client->who] = (uint8_t)(place + 1);
    return clients_verb(NEST__COMMAND_OPEN, client);
}

/* A message, perhaps in two pieces. */
static struct nest__command clients_say(struct sim_client *client, bool rest) {
    static uint8_t text[] = "DO\n";
    struct nest__command command = clients_verb(NEST__COMMAND_IN, client);
    bool half = !rest && !client->half && sim_chance(20);
    command.bytes = client->half ? text + 1 : text;
    command.n = half ? 1 : client->half ? 2 : 3;
    client->half = half;
    return command;
}

static struct nest__command clients_room(struct sim_client *client, uint64_t room) {
    struct nest__command command = clients_verb(NEST__COMMAND_ROOM, client);
    command.room = client->room = room;
    return command;
}

static struct nest__command clients_reset(struct sim_client *client) {
    client->reset = true;
    return clients_verb(NEST__COMMAND_RESET, client);
}

static struct nest__command clients_act(struct sim_client *client) {
    if (client->reset || client->state == SIM_CLOSED) {
        return client->room != UINT64_MAX && !client->reset
                   ? clients_room(client, UINT64_MAX)
                   : clients_verb(NEST__COMMAND_NOTHING, NULL);
    }
    if (client->room != UINT64_MAX && sim_chance(20)) {
        return clients_room(client, sim_chance(50) ? UINT64_MAX : sim_random(5000));
    }
    if (client->room == UINT64_MAX && sim_chance(sim->stalls)) {
        return clients_room(client, sim_random(200));
    }
    if (sim_chance(sim->resets)) {
        return clients_reset(client);
    }
    if (client->eof) {
        return clients_verb(NEST__COMMAND_NOTHING, NULL);
    }
    if (sim_chance(4)) {
        client->eof = true;
        return clients_verb(NEST__COMMAND_EOF, client);
    }
    return book_has_space() ? clients_say(client, false)
                            : clients_verb(NEST__COMMAND_NOTHING, NULL);
}

static struct nest__command clients_pass(uint32_t most) {
    struct nest__command command = clients_verb(NEST__COMMAND_PASS, NULL);
    uint32_t next = script_next_time();
    uint32_t left = next == 0 ? 0 : next - nest__now();
    command.number = next != 0 && left < most ? left : most;
    return command;
}

static struct nest__command clients_run(void) {
    uint32_t live = clients_live();
    if (clients_mailed() && sim_chance(sim->listens)) {
        script_mailed();
        return clients_verb(NEST__COMMAND_NOTHING, NULL);
    }
    if (live < sim->clients && sim->opened < sim->conversations && (live == 0 || sim_chance(15))) {
        return clients_open();
    }
    if (live == 0 || sim_chance(15)) {
        return clients_pass(sim_random(30));
    }
    return clients_act(clients_find(sim_random(live)));
}

/* Whatever keeps this loop from rest. NOTHING: it is at rest. */
static struct nest__command clients_settle(void) {
    struct sim_process *own = &sim->processes[sim_own];
    struct sim_client *client;
    own->busy = true;
    if (clients_mailed() || (sim->phase == SIM_DRAINS && !own->looked)) {
        own->looked = true;
        script_mailed();
        return clients_verb(NEST__COMMAND_NOTHING, NULL);
    }
    for (uint32_t i = 0; (client = clients_find(i)) != NULL; i++) {
        if (client->room != UINT64_MAX && !client->reset) {
            return clients_room(client, UINT64_MAX);
        }
        if (client->half && !client->eof && !client->reset && client->state == SIM_OPEN) {
            return clients_say(client, true);
        }
    }
    if (script_next_time() != 0) {
        return clients_pass(UINT32_MAX / 4);
    }
    own->busy = false;
    return clients_verb(NEST__COMMAND_NOTHING, NULL);
}

/* By TERM, or by the end of all conversations. */
static struct nest__command clients_end(void) {
    static bool drained, ended;
    if (ended) {
        sim_broken("a command is read behind the end");
    }
    if (sim->drains && !drained) {
        drained = true;
        return clients_verb(NEST__COMMAND_DRAIN, NULL);
    }
    ended = true;
    for (uint32_t i = clients_live(); i > 0; i--) {
        clients_find(i - 1)->eof = true;
    }
    return clients_verb(NEST__COMMAND_END, NULL);
}

struct nest__command nest__command_read(void) {
    if (nest__command_number++ == 0) {
        struct nest__command command = clients_verb(NEST__COMMAND_CLIENTS, NULL);
        command.number = sim->clients;
        return command;
    }
    sim_yield();
    if (sim->phase == SIM_ENDS) {
        return clients_end();
    }
    return sim->phase == SIM_RUNS ? clients_run() : clients_settle();
}
