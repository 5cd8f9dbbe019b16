/* acts.c: the actions of the simulated server: each draws what it does, and checks what comes of
 * it.
 *
 * Called by the engine, and by turns.c for the service process. No state. */
#include "loops.h"

#include "../../../service/alive/alive.h"

#include <errno.h>
#include <stdio.h>

enum { ACTS_DO };

const size_t nest__spec_vars_size = 16;
const bool nest__has_start = true;
const bool nest__has_overload = false;
const char *const nest__state_names[] = {"START", "DEFAULT"};
const unsigned nest__state_count = 2;
const struct nest__timer nest__timers[] = {{"line 1", "loops", 1, 700}};

void nest__spec_vars_init(nest_session *s, void *vars) {
    *(uint32_t *)vars = (uint32_t)s->c0.fd;
}

#include "../stateless.c"

/* -- groups */

static uint32_t acts_group(void) {
    return sim_random(sim->groups);
}

static void acts_count(nest_session *s, uint32_t group) {
    uint64_t before = sim->changes[group], least, most;
    uint64_t members = nest_members_group(s, book_group(group));
    book_members(group, &least, &most);
    if (before == sim->changes[group] && (members < least || members > most)) {
        sim_broken("nest_members says %llu, and there are %llu to %llu",
                   (unsigned long long)members, (unsigned long long)least,
                   (unsigned long long)most);
    }
}

static void acts_join(struct sim_client *client, nest_session *s) {
    uint32_t group = acts_group();
    bool member = client->member[group] != SIM_NO_MEMBER;
    if (!member) {
        book_join(client, group, true);
    }
    if (nest_join_group(s, book_group(group)) != 0) {
        sim_broken("nest_join: %s", strerror(errno));
    }
    if (!member) {
        book_join(client, group, false);
    }
    acts_count(s, group);
}

static void acts_leave(struct sim_client *client, nest_session *s) {
    uint32_t group = acts_group();
    bool member = client->member[group] != SIM_NO_MEMBER;
    if (member) {
        book_leave(client, group, true);
    }
    nest_leave_group(s, book_group(group));
    if (member) {
        book_leave(client, group, false);
    }
    acts_count(s, group);
}

/* -- messages */

/* The text of a new message, and in one or two pieces what a directive sends. */
struct acts_text {
    uint32_t number;
    uint8_t bytes[SIM_LARGEST + 1];
    nest_bytes items[2];
};

static const struct acts_text *acts_text(uint32_t sender, uint32_t n) {
    static struct acts_text text;
    text.number = book_begin(sender, n);
    book_text(text.number, text.bytes);
    text.bytes[n] = '\0';
    uint32_t first = sim_random(n + 1);
    text.items[0] = (nest_bytes){text.bytes, first};
    text.items[1] = (nest_bytes){text.bytes + first, n - first};
    return &text;
}

static uint32_t acts_size(void) {
    uint32_t most = sim->output < SIM_LARGEST ? sim->output : SIM_LARGEST;
    uint32_t n = 12 + sim_random(sim_chance(sim->large) ? most : 60);
    return n < most ? n : most;
}

static void acts_cast(uint32_t sender, struct sim_client *client, nest_session *s, uint32_t group,
                      uint32_t n) {
    const struct acts_text *text = acts_text(sender, n);
    nest_group to = book_group(group);
    uint32_t number = text->number;
    bool all = client == NULL || sim_chance(50);
    book_to_group(number, group, all ? NULL : client);
    errno = 0;
    int result = sim_chance(50)
                     ? nest_broadcast_list_group(s, to, all, 2, text->items)
                     : nest_broadcastf_group(s, to, all, "%s", (const char *)text->bytes);
    if ((result != 0) != book_message(number)->failed || (result != 0 && errno != EAGAIN)) {
        sim_broken("nest_broadcast of %u bytes: %d, %s", (unsigned)n, result, strerror(errno));
    }
    book_end(number);
}

/* To whom; NULL: to nobody whom the book knows. *never: nobody can get it. */
static struct sim_client *acts_receiver(uint64_t *id, bool *never) {
    uint32_t drawn = sim_random(100);
    *never = false;
    for (uint32_t tries = 0; drawn < 65 && tries < 20; tries++) {
        struct sim_client *client = &sim->all[sim_random(SIM_PLACES)];
        if (client->state == SIM_OPEN || client->state == SIM_CLOSES) {
            *id = client->id;
            return client;
        }
    }
    uint32_t known = sim->ended_n < SIM_IDS ? sim->ended_n : SIM_IDS;
    if (drawn < 95 && known > 0) {
        uint32_t i = sim_random(known);
        *id = sim->ended[i].id;
        *never = sim->ended[i].reaped;
        return NULL;
    }
    *id = (UINT64_C(60000) << NEST__ID_SERIAL) + sim_random(50); /* nobody's */
    *never = true;
    return NULL;
}

static void acts_tell(uint32_t sender, nest_session *s, uint32_t n) {
    bool never;
    uint64_t id;
    struct sim_client *client = acts_receiver(&id, &never);
    uint32_t to = client == NULL ? 0 : client->number;
    bool open = client != NULL && client->state == SIM_OPEN;
    const struct acts_text *text = acts_text(sender, n);
    uint32_t number = text->number;
    book_message(number)->to = UINT32_MAX;
    if (client != NULL) {
        book_to_client(number, client_place(client));
    }
    int result = sim_chance(50) ? nest_send_list(s, id, 2, text->items)
                                : nest_sendf(s, id, "%s", (const char *)text->bytes);
    int error = result == 0 ? 0 : errno;
    bool still = open && client->state == SIM_OPEN && client->number == to;
    if (error != 0 && error != EAGAIN && error != ESRCH) {
        sim_broken("nest_send of %u bytes: %s", (unsigned)n, strerror(error));
    }
    if (error == 0 && never) {
        sim_broken("nest_send to a client that has ended succeeds");
    }
    if ((error == ESRCH && still) || (error == EAGAIN) != book_message(number)->failed) {
        sim_broken("nest_send to client %u: %s", (unsigned)to, strerror(error));
    }
    if (error != 0) {
        book_refused(number);
    }
    book_end(number);
}

static void acts_alive(void) {
    bool never;
    uint64_t id;
    struct sim_client *client = acts_receiver(&id, &never);
    uint32_t number = client == NULL ? 0 : client->number;
    bool open = client != NULL && client->state == SIM_OPEN, alive = nest_alive(id);
    bool still = open && client->state == SIM_OPEN && client->number == number;
    if ((alive && never) || (!alive && still)) {
        sim_broken("nest_alive of client %u is %d", (unsigned)number, alive);
    }
}

/* More than a mailbox holds, if nobody empties it. */
static void acts_flood(uint32_t sender, struct sim_client *client, nest_session *s) {
    uint32_t group = acts_group(), n = acts_size();
    n = n < sim->output / 2 ? sim->output / 2 : n;
    n = n < SIM_LARGEST ? n : SIM_LARGEST;
    for (uint32_t count = sim_random(40); count > 0 && book_has_space(); count--) {
        acts_cast(sender, client, s, group, n);
    }
}

static void acts_step(struct sim_client *client, nest_session *s) {
    uint32_t sender = client_place(client);
    if (sim_chance(sim->locks)) {
        variables_act();
    } else if (sim_chance(sim->floods)) {
        acts_flood(sender, client, s);
    } else if (sim_chance(sim->meets)) {
        sim_chance(65) ? acts_join(client, s) : acts_leave(client, s);
    } else if (sim_chance(45)) {
        acts_cast(sender, client, s, acts_group(), acts_size());
    } else if (sim_chance(80)) {
        acts_tell(sender, s, acts_size());
    } else {
        acts_alive();
    }
}

/* -- conversations */

static void acts_end(struct sim_client *client, nest_session *s) {
    bool right = (s->reason == NEST_EOF && client->eof) ||
                 (s->reason == NEST_INPUT && client->eof && client->half) ||
                 (s->reason == NEST_GONE && client->reset) ||
                 (s->reason == NEST_CLOSED && client->quits) ||
                 (s->reason == NEST_TIMEOUT && client->behind) ||
                 (s->reason == NEST_SHUTDOWN && sim->phase == SIM_ENDS && sim->drains);
    if (!right) {
        sim_broken("client %u ends as %s", (unsigned)client->number, nest_reason_text(s));
    }
    book_closing(client);
    nest_reply_bytes(s, "bye\n", 4);
    if (sim_chance(30)) {
        acts_cast(client_place(client), client, s, acts_group(), acts_size());
    }
}

static void acts_do(struct sim_client *client, nest_session *s) {
    for (uint32_t steps = 1 + sim_random(4); steps > 0 && book_has_space(); steps--) {
        acts_step(client, s);
        if (sim_chance(10)) {
            (void)nest_reply_bytes(s, "step\n", 5); /* and waits perhaps */
        }
        if (sim_chance(5)) {
            (void)nest_sleep(s, sim_random(50));
        }
    }
    if (sim_chance(4)) {
        client->quits = true;
        nest_close(s);
    }
    (void)nest_reply_bytes(s, "done\n", 5);
}

void nest__spec_act(nest_session *s, void *vars, int rule, const struct nest_message *message) {
    (void)message;
    struct sim_client *client = client_of(s);
    if (client->acts || *(uint32_t *)vars != (uint32_t)s->c0.fd) {
        sim_broken("an action of client %u begins while another runs, or has the variables of "
                   "another client",
                   (unsigned)client->number);
    }
    client->acts = true;
    if (rule == NEST__ACT_END) {
        acts_end(client, s);
    } else if (rule == NEST__ACT_START) {
        nest_reply_bytes(s, "hello\n", 6);
        if (sim_chance(50)) {
            acts_join(client, s);
        }
    } else {
        acts_do(client, s);
    }
    client->acts = false;
}

/* As code of %timer does. */
void acts_serve(void) {
    if (!book_has_space()) {
        return;
    }
    if (sim_chance(20)) {
        variables_act();
    } else if (sim_chance(60)) {
        acts_cast(SIM_PLACES, NULL, NULL, acts_group(), acts_size());
    } else {
        acts_tell(SIM_PLACES, NULL, acts_size());
    }
}
