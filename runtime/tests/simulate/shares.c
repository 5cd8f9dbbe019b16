/* shares.c: the simulation of classes (option priorities): who is served when several classes wait.
 *
 * One unit with the runtime; small.c has the clients, life.c the arguments. The oracle looks from
 * outside: a class waits while the server has received messages of its clients that no rule has
 * taken, or while their actions wait for a helper. It knows these rules (docs/language.md):
 *
 * - Over a long time in which the same classes wait, each is served as the quotas say, within ten
 *   per cent.
 * - While a class waits, no other gets more than its share of what both get, at any moment, but for
 *   one turn of each: so none starves, and one that was idle gets nothing for that.
 * - A single request of class 1 waits for at most 128 messages of others.
 * - Clients are accepted although others have much to do.
 * - Before the loop sleeps, all that came is served: a class that is alone gets everything.
 *
 * The same shares hold for work that waits for helper threads. State: the quotas, the counts. */
#define NEST__CLASSES 4
#include "sizes.h"

#include "../../seam.h"

/* The join points and the files, as simulate.py asks for them. */
#include SIMULATE_UNIT

/* Begin tables */
#include SIMULATE_TABLES
/* End tables */

#include "random.c"

#include "small.c"

const bool nest__has_overload = false;

enum {
    SHARES_TURN = 64, /* messages of a client in its turn */
    SHARES_SINGLE = 128,
    SHARES_BATCH = 1200, /* messages of a client that always waits, more than a turn of the loop */
    SHARES_SWITCH = 4000,
    SHARES_PERCENT = 10
};
enum shares_kind { SHARES_STEADY, SHARES_SINGLES, SHARES_RARE, SHARES_WORK };

struct shares_account { /* of messages, or of work for helpers */
    const char *what;
    uint32_t turn; /* at a time, of a class */
    uint32_t mask; /* the classes that wait, in this window */
    uint64_t served[NEST__CLASSES], total;
    uint64_t settles;                           /* a quota has changed: so many come first */
    double ahead[NEST__CLASSES][NEST__CLASSES]; /* [c][d]: by so much d got more while c waited */
};

static struct {
    uint32_t quota[NEST__CLASSES], least[NEST__CLASSES], most[NEST__CLASSES]; /* that there were */
    uint32_t drawn[NEST__CLASSES]; /* the loop has them when it has slept */
    bool drew;
    uint32_t clients[NEST__CLASSES];
    enum shares_kind kind[NEST__CLASSES];
    bool on[NEST__CLASSES]; /* its clients go on sending */
    char text[2][64];       /* the quotas as the server has them */
    uint32_t texts;
    uint32_t listener; /* the class of the listening address */
    char listener_text[8];
    bool work;              /* all messages are work for helpers */
    bool restless;          /* clients change their classes */
    bool changes, switches; /* the quotas change; classes pause */
    uint64_t served, budget;
    uint64_t others, last;         /* messages of the other classes; when class 1 was served last */
    uint64_t since[NEST__CLASSES]; /* messages since a client was accepted that others waited for */
    uint32_t judged;
    struct shares_account messages, jobs;
} shares = {.messages = {.what = "messages", .turn = SHARES_TURN},
            .jobs = {.what = "work for helpers", .turn = 3}};

/* -- the oracle */

static uint32_t shares_sum(uint32_t mask, uint32_t *least) {
    uint32_t sum = 0;
    *least = UINT32_MAX;
    for (uint32_t c = 0; c < NEST__CLASSES; c++) {
        if ((mask >> c & 1) != 0) {
            sum += shares.quota[c];
            *least = shares.quota[c] < *least ? shares.quota[c] : *least;
        }
    }
    return sum;
}

static void shares_begin(struct shares_account *account, uint32_t mask) {
    account->mask = mask;
    account->total = 0;
    memset(account->served, 0, sizeof account->served);
}

/* So long that a turn or two of each class do not matter. */
static uint64_t shares_window(const struct shares_account *account) {
    uint32_t least, sum = shares_sum(account->mask, &least);
    return (uint64_t)account->turn * 2 * (100 / SHARES_PERCENT) * sum / least;
}

static void shares_judge(const struct shares_account *account) {
    uint32_t least, sum = shares_sum(account->mask, &least);
    for (uint32_t c = 0; c < NEST__CLASSES; c++) {
        double share = (double)account->total * shares.quota[c] / sum;
        double off = (double)account->served[c] - share;
        if ((account->mask >> c & 1) != 0 &&
            (off < 0 ? -off : off) * 100 > share * SHARES_PERCENT) {
            sim_broken(NULL, "of %llu %s class %u got %llu, and its quota %u of %u is %.0f",
                       (unsigned long long)account->total, account->what, (unsigned)c + 1,
                       (unsigned long long)account->served[c], (unsigned)shares.quota[c],
                       (unsigned)sum, share);
        }
    }
    shares.judged += (account->mask & (account->mask - 1)) != 0;
}

/* While class c waits, d got one. */
static void shares_ahead(struct shares_account *account, uint32_t c, uint32_t d) {
    double most = (double)account->turn / shares.least[c] + (double)account->turn / shares.least[d];
    account->ahead[c][d] += 1.0 / shares.quota[d];
    if (account->ahead[c][d] > most + 0.001) {
        sim_broken(NULL, "class %u waits, and class %u gets more %s than its share",
                   (unsigned)c + 1, (unsigned)d + 1, account->what);
    }
}

/* One of class `rank` is served, while those of `mask` wait, of which it was one. */
static void shares_count(struct shares_account *account, uint32_t rank, uint32_t mask) {
    for (uint32_t c = 0; c < NEST__CLASSES; c++) {
        for (uint32_t d = 0; d < NEST__CLASSES; d++) {
            if ((mask >> c & 1) == 0) {
                account->ahead[c][d] = 0;
            } else if (c == rank) {
                double less = account->ahead[c][d] - 1.0 / shares.quota[c];
                account->ahead[c][d] = less < 0 ? 0 : less;
            } else if (d == rank) {
                shares_ahead(account, c, d);
            }
        }
    }
    if (account->settles > 0) {
        account->settles--;
        mask = 0;
    }
    if (mask != account->mask) {
        shares_begin(account, mask);
    }
    if ((mask >> rank & 1) == 0) {
        return;
    }
    account->served[rank]++;
    if (++account->total >= shares_window(account)) {
        shares_judge(account);
        shares_begin(account, mask);
    }
}

static uint32_t shares_waiting(void) {
    uint32_t mask = 0;
    for (const struct small_client *client = small_clients; client != NULL; client = client->next) {
        mask |= small_waiting(client) > 0 ? UINT32_C(1) << client->rank : 0;
    }
    return mask;
}

/* More actions of the class wait for a helper than there are helpers. */
static uint32_t shares_blocked(void) {
    uint32_t counts[NEST__CLASSES] = {0}, mask = 0;
    for (const struct small_client *client = small_clients; client != NULL; client = client->next) {
        counts[client->rank] += client->blocks;
    }
    for (uint32_t c = 0; c < NEST__CLASSES; c++) {
        mask |= counts[c] > nest__config.helpers ? UINT32_C(1) << c : 0;
    }
    return mask;
}

/* A request of class 1 alone. */
static void shares_single(struct small_client *client) {
    uint64_t waited = shares.others - client->arrived;
    if (client->single && shares.last <= client->arrived && waited > SHARES_SINGLE) {
        sim_broken(NULL, "a single request of class 1 has waited for %llu messages of others",
                   (unsigned long long)waited);
    }
    client->single = false;
}

void small_take(nest_session *s, unsigned rule) {
    struct small_client *client = small_of(s);
    (void)rule;
    if (small_waiting(client) == 0) {
        sim_broken(NULL, "a message is taken that nobody has sent");
    }
    shares_count(&shares.messages, client->rank, shares_waiting());
    if (client->rank == 0) {
        shares_single(client);
        shares.last = shares.others;
    } else {
        shares.others++;
    }
    shares.since[client->rank]++;
    shares.served++;
    client->taken++;
}

/* In place of the listener. Of its own class, one turn of a client may come between two that are
 * accepted; of others, what their quotas allow for both. */
int shares_take(struct nest__listener *listener, struct nest__arrival *arrival, bool nonblock) {
    uint32_t rank = shares.listener;
    int error = nest__take(listener, arrival, nonblock);
    if (error != 0) {
        return error;
    }
    for (uint32_t d = 0; d < NEST__CLASSES; d++) {
        double own = 2 * SHARES_TURN + 1,
               most = 2 * SHARES_TURN + own * shares.most[d] / shares.least[rank];
        if (d != rank && (double)shares.since[d] > most) {
            sim_broken(NULL, "a client waits to be accepted for %llu messages of class %u",
                       (unsigned long long)shares.since[d], (unsigned)d + 1);
        }
    }
    memset(shares.since, 0, sizeof shares.since);
    shares_count(&shares.messages, rank, shares_waiting());
    shares.last = rank == 0 ? shares.others : shares.last;
    return 0;
}

/* -- the clients */

static void shares_send(struct small_client *client) {
    char message[SMALL_MESSAGE + 1] = "ASK\n";
    if (client->kind == SHARES_WORK) {
        memcpy(message, "BLK\n", SMALL_MESSAGE);
    } else if (shares.restless && sim_chance(1)) {
        memcpy(message, "R00\n", SMALL_MESSAGE);
        message[2] = (char)('0' + sim_random(NEST__CLASSES));
    }
    small_send(client, message);
}

/* It goes on: with its next message, or before it has none left. */
static void shares_go_on(struct small_client *client) {
    uint32_t there = client->sent - client->taken + client->due_n / SMALL_MESSAGE;
    uint32_t count = client->kind == SHARES_STEADY && there < SHARES_BATCH / 2 ? SHARES_BATCH
                     : client->kind != SHARES_STEADY && there == 0             ? 1
                                                                               : 0;
    if (client->quits || !shares.on[client->rank] || shares.served >= shares.budget) {
        return;
    }
    for (; count > 0; count--) {
        shares_send(client);
    }
    if (client->kind != SHARES_WORK && sim_chance(client->kind == SHARES_STEADY ? 20 : 1)) {
        small_send(client, "QUT\n");
    }
}

/* A request of class 1, while the others have much to do. One at a time: another one would wait for
 * the first. */
static void shares_rarely(void) {
    struct small_client *idle = NULL;
    for (struct small_client *client = small_clients; client != NULL; client = client->next) {
        bool rare = client->kind == SHARES_RARE && client->session != NULL;
        if (rare && (client->taken < client->sent || client->due_n > 0)) {
            return;
        }
        idle = rare && (idle == NULL || sim_chance(50)) ? client : idle;
    }
    if (idle != NULL) {
        uint32_t least, sum = shares_sum((1 << NEST__CLASSES) - 1, &least);
        /* What class 1 had in its last turn is made up for first: a whole one, if a client changed
         * to it. */
        uint32_t had = shares.restless ? SHARES_TURN : 4;
        idle->single = shares.others - shares.last > SHARES_TURN + had * sum / shares.quota[0];
        idle->arrived = shares.others;
        small_send(idle, "ASK\n");
    }
}

static void shares_open(uint32_t rank) {
    struct small_client *client = small_open();
    bool first = sim_chance(50);
    client->rank = rank;
    client->kind = shares.kind[rank];
    if (first && client->kind != SHARES_RARE) { /* it has sent before it is accepted */
        shares_go_on(client);
    }
}

static void shares_draw_quotas(void) {
    char *text = shares.text[shares.texts++ % 2];
    const uint32_t *drawn = shares.drawn;
    for (uint32_t c = 0; c < NEST__CLASSES; c++) {
        shares.drawn[c] = DRAW(1, 1, 2, 3, 4, 6, 9);
    }
    snprintf(text, sizeof shares.text[0], "%u/%u/%u/%u", (unsigned)drawn[0], (unsigned)drawn[1],
             (unsigned)drawn[2], (unsigned)drawn[3]);
    atomic_store(&nest__config.quota, text);
    shares.drew = true;
    if (sim.verbose) {
        printf("quotas %s\n", text);
    }
}

/* From now on these are in force. What was served before counts a little longer. */
static void shares_take_quotas(void) {
    for (uint32_t c = 0; c < NEST__CLASSES; c++) {
        uint32_t quota = shares.quota[c] = shares.drawn[c];
        shares.least[c] = shares.least[c] == 0 || quota < shares.least[c] ? quota : shares.least[c];
        shares.most[c] = quota > shares.most[c] ? quota : shares.most[c];
    }
    uint32_t least, sum = shares_sum((1 << NEST__CLASSES) - 1, &least);
    shares.messages.settles = (uint64_t)SHARES_TURN * 9 * sum;
    shares.jobs.settles = 27u * sum;
    memset(shares.messages.ahead, 0, sizeof shares.messages.ahead);
    memset(shares.jobs.ahead, 0, sizeof shares.jobs.ahead);
    shares.drew = false;
}

static void shares_draw(void) {
    shares.work = sim_chance(30);
    shares.budget = (uint64_t)sim.conversations * (shares.work ? 5 : 150);
    shares.restless = !shares.work && sim_chance(15);
    shares.switches = sim_chance(40);
    shares.changes = sim_chance(30);
    shares.listener = sim_random(NEST__CLASSES);
    snprintf(shares.listener_text, sizeof shares.listener_text, "%u",
             (unsigned)shares.listener + 1);
    nest__config.listen_priority = shares.listener_text;
    nest__config.helpers = 1 + sim_random(3);
    shares_draw_quotas();
    shares_take_quotas();
    shares.messages.settles = shares.jobs.settles = 0;
    uint32_t all = 2 + sim_random(NEST__CLASSES - 1); /* classes that have clients */
    for (uint32_t c = 0, left = NEST__CLASSES; c < NEST__CLASSES; c++, left--) {
        bool is = sim_random(left) < all;
        all -= is;
        shares.on[c] = true;
        shares.clients[c] = is ? 3 + sim_random(4) : 0;
        shares.kind[c] = shares.work                ? SHARES_WORK
                         : c == 0 && sim_chance(40) ? SHARES_RARE
                         : sim_chance(10)           ? SHARES_SINGLES
                                                    : SHARES_STEADY;
        shares.clients[c] *= is && shares.work ? 2 : 1;
    }
    if (sim.verbose) {
        for (uint32_t c = 0; c < NEST__CLASSES; c++) {
            printf("class %u: %u clients of kind %u\n", (unsigned)c + 1,
                   (unsigned)shares.clients[c], (unsigned)shares.kind[c]);
        }
        printf("listener: class %u; %u helpers\n", (unsigned)shares.listener + 1,
               (unsigned)nest__config.helpers);
    }
}

/* New clients in place of those that have left. */
static void shares_fill(void) {
    uint32_t there[NEST__CLASSES] = {0};
    if (shares.served >= shares.budget) {
        return;
    }
    for (const struct small_client *client = small_clients; client != NULL; client = client->next) {
        there[client->rank] += !client->quits;
    }
    for (uint32_t c = 0; c < NEST__CLASSES && sim.live < 60; c++) {
        for (uint32_t n = there[c]; n < shares.clients[c] && sim.live < 60; n++) {
            shares_open(c);
        }
    }
}

/* Something that is not about one client. */
static void shares_sometimes(void) {
    if (shares.changes && !shares.drew && sim_random(SHARES_SWITCH * 4) == 0) {
        shares_draw_quotas();
    }
    if (shares.switches && sim_random(SHARES_SWITCH) == 0) {
        uint32_t c = sim_random(NEST__CLASSES);
        shares.on[c] = !shares.on[c];
        for (struct small_client *client = small_clients; client != NULL && shares.on[c];
             client = client->next) {
            if (client->rank == c && client->session != NULL && client->kind != SHARES_RARE) {
                shares_go_on(client);
            }
        }
    }
    if (sim_chance(1)) {
        shares_fill();
    }
    if (!shares.work && sim_chance(2)) {
        shares_rarely();
    }
}

/* -- the actions */

static void shares_worked(struct small_client *client) {
    shares_count(&shares.jobs, client->rank, shares_blocked());
}

static void shares_work(nest_session *s, struct small_client *client) {
    client->blocks = true;
    nest_block_begin(s);
    shares_worked(client);
    nest_block_end(s);
    shares_worked(client);
    client->blocks = false;
}

void nest__spec_act(nest_session *s, void *vars, int rule, const struct nest_message *message) {
    struct small_client *client = small_of(s);
    (void)vars, (void)message;
    switch (rule) {
    case NEST__ACT_START:
        client->session = s;
        if (nest_priority(s, (long)client->rank + 1) != 0 || nest_priority(s, 0) == 0 ||
            nest_priority(s, NEST__CLASSES + 1) == 0) {
            sim_broken(NULL, "a class is refused, or one that does not exist is not");
        }
        break;
    case NEST__ACT_END:
        return;
    case SMALL_BLOCK:
        shares_work(s, client);
        small_ok(s);
        break;
    case SMALL_QUIT:
        small_ok(s);
        nest_close(s);
        break;
    case SMALL_RANK:
        client->rank = (uint32_t)(nest_bytes_at(s, 2)[0] - '0');
        if (nest_priority(s, (long)client->rank + 1) != 0) {
            sim_broken(NULL, "a class is refused");
        }
        small_ok(s);
        break;
    default:
        small_ok(s);
        break;
    }
    if (client->kind != SHARES_RARE) {
        shares_go_on(client);
    }
    shares_sometimes();
}

void small_closed(struct small_client *client, bool cut) {
    if (cut || (client->quits && client->got != client->sent * SMALL_REPLY)) {
        sim_broken(NULL, "conversation %u is cut", (unsigned)client->who);
    }
}

/* -- the life */

/* In place of nest__poller_sleep in loop.c. */
void shares_sleep(bool look) {
    bool nobody = script_taken == script_opened;
    if (shares.drew) {
        shares_take_quotas();
    }
    (void)small_flush();
    if (nobody) { /* who comes now has not waited before */
        memset(shares.since, 0, sizeof shares.since);
    }
    nest__poller_sleep(look);
}

struct nest__command nest__command_read(void) {
    struct nest__command command = {.verb = NEST__COMMAND_NOTHING};
    uint32_t next = script_job_next(), now = nest__now();
    nest__command_number++;
    if (nest__command_number == 1) {
        command.verb = NEST__COMMAND_CLIENTS;
        command.number = 100;
        return command;
    }
    small_settled();
    if (script_taken != script_opened) {
        sim_broken(NULL, "a client waits to be accepted, and nothing is in its way");
    }
    if (next != 0) {
        command.verb = NEST__COMMAND_PASS;
        command.number = (int32_t)(next - now) > 0 ? next - now : 0;
        return command;
    }
    if (nest__command_number > 100000) {
        sim_broken(NULL, "it does not come to an end");
    }
    shares_fill();
    for (struct small_client *client = small_clients; client != NULL; client = client->next) {
        if (client->session != NULL && client->kind != SHARES_RARE) {
            shares.on[client->rank] = true;
            shares_go_on(client);
        }
    }
    if (shares.served >= shares.budget) {
        command.verb = NEST__COMMAND_END;
    }
    return command;
}

static int run(uint64_t seed, uint32_t conversations, bool verbose) {
    sim.seed = seed;
    sim.conversations = conversations;
    sim.verbose = verbose;
    script_helpers(1 + sim_random(3));
    shares_draw();
    int status = small_run();
    bool steady = !shares.switches && !shares.changes && !shares.restless;
    for (uint32_t c = 0; c < NEST__CLASSES; c++) {
        steady = steady && (shares.clients[c] == 0 || shares.kind[c] == SHARES_STEADY);
    }
    if (sim.verbose) {
        printf("%u windows\n", (unsigned)shares.judged);
    }
    if (status == 0 && steady && shares.judged == 0 && sim.conversations >= 1000) {
        sim_broken(NULL, "several classes always wait, and nothing was compared with their quotas");
    }
    return status;
}

#include "life.c"
