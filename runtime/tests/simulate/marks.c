/* marks.c: the simulation of overload: when new clients are taken, and what they get meanwhile.
 *
 * One unit with the runtime; small.c has the clients, life.c the arguments. With MARKS_TOLD the
 * specification has an OVERLOAD rule. The oracle looks from outside: it counts the clients that are
 * served, those that have sent what no rule has taken, and actions that wait for a helper, and it
 * knows how long actions take. It knows these rules (docs/language.md):
 *
 * - Overload begins when a queue has its HIGH length, where clients that were accepted since the
 *   loop looked have something to do, or when all turns of the loop have been too long for 100 ms.
 *   It ends when all queues have at most their LOW lengths, or with a turn that was not too long.
 *   The loop looks before and after it sleeps, and when it has accepted a client.
 * - Meanwhile nobody is accepted; otherwise, everybody is. With the rule, new clients run OVERLOAD
 *   and nothing else, and get all that it says; above a quarter of all places at once they are
 *   reset.
 * - All that the others send is answered before the loop sleeps.
 *
 * State: the option, the counts, a clock that advances as actions say. */
#include "sizes.h"

#ifndef MARKS_TOLD
#define MARKS_TOLD 0
#endif
#include "../../seam.h"

/* The join points and the files, as simulate.py asks for them. */
#include SIMULATE_UNIT

/* Begin tables */
#include SIMULATE_TABLES
/* End tables */

#include "random.c"

#include "small.c"

const bool nest__has_overload = MARKS_TOLD;

enum {
    MARKS_LASTS_US = 100000,
    MARKS_CLIENTS = 280,
    MARKS_TOLD_MOST = MARKS_CLIENTS / 4,
    MARKS_TEXT = 3000 /* bytes that OVERLOAD says */
};
enum marks_queue { MARKS_ACCEPTED, MARKS_ACTIONS, MARKS_FILES, MARKS_QUEUES };

struct marks_value {
    uint32_t high[MARKS_QUEUES], low[MARKS_QUEUES]; /* 0: not watched */
    uint32_t turn;                                  /* ms */
    char text[96];
};

static struct {
    struct marks_value values[2]; /* in force, and the one before: the server may still have it */
    uint32_t changes;
    bool changed; /* not looked at since */
    /* what must be */
    bool over, asleep;
    uint64_t slept, woke, late_since; /* us; 0: none */
    uint32_t told;                    /* sessions that are turned away */
    uint32_t actions, taken;          /* when the loop looked; clients since */
    /* the clock */
    uint32_t clock_ms;
    uint64_t us;
    /* the life */
    uint32_t came; /* clients to which something came in this sleep */
    uint32_t cost; /* us of a message, at most */
    uint32_t clients, crowd, batch;
    uint32_t blocks; /* per cent of messages */
    bool ends;
    uint64_t served, turned, waited, begun;
} marks;

/* -- the clock */

uint64_t marks_us(void) {
    uint32_t now = nest__now();
    marks.us += (uint64_t)(now - marks.clock_ms) * 1000;
    marks.clock_ms = now;
    return marks.us;
}

uint64_t marks_ms(void) {
    return marks_us() / 1000;
}

/* -- the oracle */

static struct marks_value *marks_value(void) {
    return &marks.values[marks.changes % 2];
}

static void marks_lengths(uint32_t lengths[MARKS_QUEUES]) {
    uint32_t work = 0;
    memset(lengths, 0, MARKS_QUEUES * sizeof lengths[0]);
    for (const struct small_client *client = small_clients; client != NULL; client = client->next) {
        lengths[MARKS_ACCEPTED] += client->session != NULL && !client->turned;
        lengths[MARKS_ACTIONS] += small_waiting(client) > 0 && !client->blocks && !client->turned;
        work += client->blocks;
    }
    lengths[MARKS_FILES] = work > nest__config.helpers ? work - nest__config.helpers : 0;
}

/* Whether the turn that ends now makes overload begin or last. */
static bool marks_late(uint64_t now) {
    uint64_t turn = (uint64_t)marks_value()->turn * 1000;
    if (marks.asleep) {
        marks.woke = now;
        if (now - marks.slept > turn) { /* nothing has waited */
            marks.late_since = 0;
            return false;
        }
        return marks.over;
    }
    marks.slept = now;
    if (marks.woke == 0 || now - marks.woke <= turn) {
        marks.late_since = 0;
        return false;
    }
    marks.late_since = marks.late_since == 0 ? marks.woke : marks.late_since;
    return marks.over || now - marks.late_since >= MARKS_LASTS_US;
}

static bool marks_over(const uint32_t lengths[MARKS_QUEUES]) {
    const struct marks_value *value = marks_value();
    bool over = false;
    for (unsigned queue = 0; queue < MARKS_QUEUES; queue++) {
        over |= value->high[queue] != 0 && (marks.over ? lengths[queue] > value->low[queue]
                                                       : lengths[queue] >= value->high[queue]);
    }
    return over;
}

/* In place of nest__accept_load in loop.c. */
void marks_load(uint32_t actions) {
    uint32_t lengths[MARKS_QUEUES];
    (void)script_job_next(); /* helpers take what waits */
    marks_lengths(lengths);
    lengths[MARKS_ACTIONS] += marks.asleep ? marks_completed() : 0;
    if (actions != lengths[MARKS_ACTIONS]) {
        sim_broken(NULL, "%u clients have something to do, and the loop counts %u",
                   (unsigned)lengths[MARKS_ACTIONS], (unsigned)actions);
    }
    if (marks.changed) {
        marks.woke = marks.late_since = 0;
        marks.changed = false;
    }
    bool before = marks.over;
    marks.over = marks_value()->turn != 0 ? marks_late(marks_us()) : marks_over(lengths);
    marks.begun += marks.over && !before;
    marks.asleep = !marks.asleep;
    marks.actions = actions;
    marks.taken = 0;
    if (sim.verbose && marks.over != before) {
        printf("overload %s: %u clients, %u with something to do, %u for helpers\n",
               marks.over ? "begins" : "ends", (unsigned)lengths[MARKS_ACCEPTED],
               (unsigned)lengths[MARKS_ACTIONS], (unsigned)lengths[MARKS_FILES]);
    }
    nest__accept_load(actions);
    bool pauses = !MARKS_TOLD && marks.over;
    if (nest__accept.open != !pauses) {
        sim_broken(NULL, "new clients are %s, and the loop is %soverloaded",
                   nest__accept.open ? "accepted" : "not accepted", marks.over ? "" : "not ");
    }
}

/* In place of the poller: clients that have sent something. */
uint32_t marks_completed(void) {
    return marks.came;
}

/* In place of the listener. */
int marks_take(struct nest__listener *listener, struct nest__arrival *arrival, bool nonblock) {
    (void)script_job_next(); /* helpers take what waits */
    int error = nest__take(listener, arrival, nonblock);
    if (error == 0 && !MARKS_TOLD && marks.over) {
        sim_broken(NULL, "a client is accepted, and the loop is overloaded");
    }
    return error;
}

/* A client was accepted, and may have something to do. */
static void marks_taken(void) {
    uint32_t lengths[MARKS_QUEUES];
    marks.taken++;
    if (!marks.over) {
        marks_lengths(lengths);
        lengths[MARKS_ACTIONS] = marks.actions + marks.taken;
        marks.over = marks_over(lengths);
        marks.begun += marks.over;
    }
}

/* -- the clients */

static void marks_send(struct small_client *client) {
    small_send(client, sim_chance(marks.blocks) ? "BLK\n" : "ASK\n");
}

static void marks_go_on(struct small_client *client) {
    uint32_t there = client->sent - client->taken + client->due_n / SMALL_MESSAGE;
    if (client->quits || client->turned || there > 0) {
        return;
    }
    if (marks.ends || sim_chance(marks_value()->turn != 0 ? 1 : 10)) {
        small_send(client, "QUT\n");
        return;
    }
    if (marks_value()->turn != 0 || sim_chance(60)) {
        for (uint32_t n = 1 + sim_random(marks.batch); n > 0; n--) {
            marks_send(client);
        }
    }
}

static void marks_open(void) {
    struct small_client *client = small_open();
    if (MARKS_TOLD && sim_chance(60)) {
        client->room = sim_random(MARKS_TEXT); /* who is told does not leave at once */
    }
    if (sim_chance(50)) {
        marks_go_on(client);
    }
}

static void marks_draw_value(void) {
    static const char *const names[] = {"accepted", "actions", "files"};
    struct marks_value *value = &marks.values[++marks.changes % 2];
    *value = (struct marks_value){.turn = 0};
    if (!marks.over && sim_chance(25)) {
        value->turn = 1 + sim_random(60);
        snprintf(value->text, sizeof value->text, "%ums", (unsigned)value->turn);
    } else {
        size_t n = 0;
        unsigned first = sim_random(MARKS_QUEUES);
        for (unsigned i = 0; i < MARKS_QUEUES; i++) {
            unsigned queue = (first + i) % MARKS_QUEUES;
            if (i > 0 && sim_chance(60)) {
                continue;
            }
            value->high[queue] = 1 + sim_random(marks.clients);
            value->low[queue] = sim_random(value->high[queue]);
            n += (size_t)snprintf(value->text + n, sizeof value->text - n, "%s%s %u %u",
                                  n > 0 ? " " : "", names[queue], (unsigned)value->high[queue],
                                  (unsigned)value->low[queue]);
        }
    }
    marks.cost = value->turn == 0 ? 100 : value->turn * 1000 / (1 + sim_random(8));
    marks.changed = true;
    char reason[256];
    if (nest__overload_valid(value->text, reason) != 0) {
        sim_broken(NULL, "overload %s is no value", value->text);
    }
    atomic_store(&nest__config.overload, value->text);
    if (sim.verbose) {
        printf("overload %s; a message takes at most %u us\n", value->text, (unsigned)marks.cost);
    }
}

/* -- the actions */

static void marks_work(nest_session *s, struct small_client *client) {
    client->blocks = true;
    nest_block_begin(s);
    nest_block_end(s);
    client->blocks = false;
}

static void marks_begin(nest_session *s, struct small_client *client, bool turned) {
    client->session = s;
    if (!turned) { /* it reads all */
        client->room = UINT32_MAX;
        script_client_of(&s->c0)->room = UINT64_MAX;
    }
    if (turned != (MARKS_TOLD && marks.over)) {
        sim_broken(NULL, "conversation %u is %s, and the loop is %soverloaded",
                   (unsigned)client->who, turned ? "turned away" : "served",
                   marks.over ? "" : "not ");
    }
    if (!turned) {
        marks_taken();
    }
}

static void marks_tell(nest_session *s, struct small_client *client) {
    char text[MARKS_TEXT];
    memset(text, '4', sizeof text);
    client->turned = true;
    marks.turned++;
    if (++marks.told > MARKS_TOLD_MOST) {
        sim_broken(NULL, "%u clients are told at once", (unsigned)marks.told);
    }
    if (nest_reply_bytes(s, text, sizeof text) != 0 || nest_read(s, 1) != NULL) {
        sim_broken(NULL, "OVERLOAD cannot reply, or reads");
    }
}

void nest__spec_act(nest_session *s, void *vars, int rule, const struct nest_message *message) {
    struct small_client *client = small_of(s);
    (void)vars, (void)message;
    marks_us();
    marks.us += sim_random(marks.cost + 1);
    switch (rule) {
    case NEST__ACT_START:
        marks_begin(s, client, false);
        break;
    case NEST__ACT_OVERLOAD:
        marks_begin(s, client, true);
        marks_tell(s, client);
        return;
    case NEST__ACT_END:
        if (client->turned) {
            sim_broken(NULL, "END runs for a client that was turned away");
        }
        return;
    case SMALL_BLOCK:
        marks_work(s, client);
        small_ok(s);
        break;
    case SMALL_QUIT:
        small_ok(s);
        nest_close(s);
        break;
    default:
        small_ok(s);
        break;
    }
    marks_go_on(client);
    if (marks_value()->turn != 0 && !marks.ends && sim_chance(2)) {
        marks.cost = marks_value()->turn * 1000 / (1 + sim_random(8));
    }
}

void small_take(nest_session *s, unsigned rule) {
    struct small_client *client = small_of(s);
    (void)rule;
    if (client->turned || small_waiting(client) == 0) {
        sim_broken(NULL, "a rule takes a message of conversation %u", (unsigned)client->who);
    }
    client->taken++;
    marks.served++;
}

void small_closed(struct small_client *client, bool cut) {
    if (client->session == NULL) {
        if (!cut || !MARKS_TOLD || !marks.over || marks.told < MARKS_TOLD_MOST) {
            sim_broken(NULL, "conversation %u is refused, and %u are told", (unsigned)client->who,
                       (unsigned)marks.told);
        }
        return;
    }
    marks.told -= client->turned;
    if (cut || client->got != (client->turned ? MARKS_TEXT : client->sent * SMALL_REPLY)) {
        sim_broken(NULL, "conversation %u is %s, and got %u bytes", (unsigned)client->who,
                   cut ? "cut" : "closed", (unsigned)client->got);
    }
}

/* -- the life */

/* In place of nest__poller_sleep in loop.c. */
void marks_sleep(bool look) {
    if (!look && marks_value()->turn != 0 && sim_chance(10)) { /* nothing comes for a while */
        marks.us += sim_random(300000);
    }
    marks.came = small_flush();
    nest__poller_sleep(look);
}

/* Somebody who has got part of what he is told takes the rest. */
static bool marks_read(struct nest__command *command, uint32_t percent) {
    for (struct small_client *client = small_clients; client != NULL; client = client->next) {
        if (client->session != NULL && client->room != UINT32_MAX && sim_chance(percent)) {
            client->room = UINT32_MAX;
            command->verb = NEST__COMMAND_ROOM;
            command->who = client->who;
            return true;
        }
    }
    return false;
}

static void marks_check(void) {
    uint32_t lengths[MARKS_QUEUES];
    small_settled();
    if (script_taken < script_opened && (MARKS_TOLD || !marks.over)) {
        sim_broken(NULL, "a client waits, and nothing is in its way");
    }
    marks.waited += script_taken < script_opened;
    marks_lengths(lengths);
    if (!marks.changed && marks_value()->turn == 0 && marks.over != marks_over(lengths)) {
        sim_broken(NULL, "the loop sleeps, and has not looked at its queues");
    }
}

static void marks_next(struct nest__command *command) {
    uint32_t next = script_job_next(), now = nest__now();
    if (next != 0 && sim_chance(50)) {
        command->verb = NEST__COMMAND_PASS;
        command->number = (int32_t)(next - now) > 0 ? next - now : 0;
    } else if (sim_chance(30)) {
        command->verb = NEST__COMMAND_PASS;
        command->number = DRAW(1, 10, 60, 120);
    }
    if (!marks.ends && sim_random(200) == 0) {
        marks_draw_value();
    }
    for (struct small_client *client = small_clients; client != NULL; client = client->next) {
        if (client->session != NULL && sim_chance(marks.ends ? 100 : 40)) {
            marks_go_on(client);
        }
    }
    for (uint32_t n = sim_random(marks.crowd + 1); n > 0 && !marks.ends && sim.live < 120; n--) {
        marks_open();
    }
}

struct nest__command nest__command_read(void) {
    struct nest__command command = {.verb = NEST__COMMAND_NOTHING, .room = UINT64_MAX};
    nest__command_number++;
    if (nest__command_number == 1) {
        command.verb = NEST__COMMAND_CLIENTS;
        command.number = nest__config.max_clients = MARKS_CLIENTS;
        return command;
    }
    marks_check();
    marks.ends = marks.ends || sim.opened >= sim.conversations;
    if (marks.ends && sim.live == 0) {
        command.verb = NEST__COMMAND_END;
    } else if (!marks_read(&command, marks.ends ? 100 : 3)) {
        marks_next(&command);
    }
    if (nest__command_number > 10000 + sim.conversations * 1000) {
        sim_broken(NULL, "it does not come to an end");
    }
    return command;
}

static int run(uint64_t seed, uint32_t conversations, bool verbose) {
    sim.seed = seed;
    sim.conversations = conversations;
    sim.verbose = verbose;
    script_helpers(DRAW(1, 5, 30));
    nest__config.helpers = 1 + sim_random(3);
    marks.clients = 4 + sim_random(20);
    marks.crowd = DRAW(1, 2, 5, 12);
    marks.batch = DRAW(1, 3, 200);
    marks.blocks = marks.batch > 3 ? sim_random(2) : DRAW(0, 5, 40);
    marks.clock_ms = nest__now();
    marks_draw_value();
    int status = small_run();
    if (sim.verbose) {
        printf("%llu messages; overload began %llu times, %llu were turned away\n",
               (unsigned long long)marks.served, (unsigned long long)marks.begun,
               (unsigned long long)marks.turned);
    }
    return status;
}

#include "life.c"
