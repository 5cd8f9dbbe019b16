/* meet.c: how conversations meet: groups, messages to them and to single conversations.
 *
 * Called by acts.c and draw.c. State: how many do so in this life. What each call gives is known
 * from the model in post.c. Another loop is simulated by what it sends. */
#include "simulate.h"

#include "../../service/alive/alive.h"
#include "../../service/groups/published.h"
#include "../../workers/mailbox.h"

#include <errno.h>

enum { MEET_JOIN, MEET_LEAVE, MEET_CAST, MEET_ALL, MEET_TELL, MEET_KINDS };
enum { MEET_LARGEST = NEST__SEND_MOST + 1 };

static struct { /* per cent, unless said otherwise */
    uint32_t meets, elsewhere, large;
    uint32_t groups; /* that most choose from */
    uint32_t sent;   /* messages in all */
} meet;

void meet_begin(void) {
    if (SIMULATE_MEETS) {
        sim.lossy = sim_chance(50);
        meet.meets = DRAW(20, 50, 80);
        meet.elsewhere = DRAW(0, 0, 3, 10);
        meet.large = DRAW(0, 5, 30);
        meet.groups = 1 + sim_random(4);
    }
}

bool meet_draws(void) {
    return SIMULATE_MEETS && sim_chance(meet.meets);
}

/* -- groups: even ones are numbers, odd ones the same numbers as text */

static nest_group meet_group(uint32_t group, char text[16]) {
    snprintf(text, 16, "%u", (unsigned)group / 2);
    return group % 2 == 0 ? nest_group_number(group / 2) : nest_group_text(text);
}

static uint32_t meet_draw_group(void) {
    return sim_random(sim_chance(95) ? meet.groups : SIM_GROUPS);
}

static uint64_t meet_members(uint32_t group) {
    uint64_t members = 0;
    for (const struct sim_talk *talk = sim.talks; talk != NULL; talk = talk->next) {
        members += talk->joined[group] != 0;
    }
    return members;
}

static uint32_t meet_joined(const struct sim_talk *talk) {
    uint32_t groups = 0;
    for (uint32_t group = 0; group < SIM_GROUPS; group++) {
        groups += talk->joined[group] != 0;
    }
    return groups;
}

static void meet_count(struct sim_talk *talk, uint32_t group) {
    char text[16];
    uint64_t members = nest_members_group(talk->session, meet_group(group, text));
    if (members != meet_members(group)) {
        sim_broken(talk, "nest_members says %llu, and there are %llu", (unsigned long long)members,
                   (unsigned long long)meet_members(group));
    }
}

static void meet_join(struct sim_talk *talk, uint32_t group) {
    char text[16];
    bool member = talk->joined[group] != 0, full = meet_joined(talk) == NEST__GROUPS_EACH;
    post_begin();
    uint32_t faults = nest__faults_struck;
    int error = nest_join_group(talk->session, meet_group(group, text)) == 0 ? 0 : errno;
    int wanted = talk->ends > 0 ? ECANCELED : !member && full ? ENOSPC : 0;
    if (error != wanted && !(error == ENOMEM && faults != nest__faults_struck)) {
        sim_broken(talk, "nest_join: %s", strerror(error));
    }
    if (error == 0 && !member) {
        talk->joined[group] = post_clock();
    }
    meet_count(talk, group);
}

/* Names that no group has. */
static void meet_misname(struct sim_talk *talk) {
    char name[NEST__GROUPS_NAME + 2] = "";
    int wanted = EINVAL;
    if (sim_chance(50)) {
        memset(name, 'a', sizeof name - 1);
        wanted = ENAMETOOLONG;
    }
    if (nest_broadcast(talk->session, name, "x") != -1 || errno != wanted ||
        nest_members(talk->session, name) != 0) {
        sim_broken(talk, "a group without a name: %s", strerror(errno));
    }
}

static void meet_leave(struct sim_talk *talk, uint32_t group) {
    char text[16];
    nest_leave_group(talk->session, meet_group(group, text));
    post_left(talk, group);
    meet_count(talk, group);
}

/* -- messages */

struct meet_text {
    uint8_t bytes[MEET_LARGEST + 1]; /* and a NUL */
    uint32_t n;
};

/* Each is another one. */
static const struct meet_text *meet_text(bool sound) {
    static struct meet_text text;
    uint32_t most = nest__config.output_buffer;
    most = most < NEST__SEND_MOST ? most : NEST__SEND_MOST;
    int head = snprintf((char *)text.bytes, 16, "%u:", (unsigned)++meet.sent);
    text.n = (uint32_t)head + sim_random(sim_chance(meet.large) ? 3000 : 60);
    text.n = sim_chance(4) ? most + 1 : sim_chance(4) ? most : sim_chance(2) ? 0 : text.n;
    if (sound && (text.n == 0 || text.n > most)) {
        text.n = most;
    }
    for (uint32_t i = (uint32_t)head; i < text.n; i++) {
        text.bytes[i] = (uint8_t)('a' + (i + meet.sent) % 26);
    }
    text.bytes[text.n] = '\0';
    return &text;
}

static bool meet_too_large(uint32_t n) {
    return n > NEST__SEND_MOST || n > nest__config.output_buffer;
}

/* In up to three pieces. */
static size_t meet_items(const struct meet_text *text, nest_bytes items[3]) {
    uint32_t first = sim_random(text->n + 1), second = sim_random(text->n - first + 1);
    items[0] = (nest_bytes){text->bytes, first};
    items[1] = (nest_bytes){text->bytes + first, second};
    items[2] = (nest_bytes){text->bytes + first + second, text->n - first - second};
    return 3;
}

static void meet_cast(struct sim_talk *talk, uint32_t group, bool all) {
    const struct meet_text *text = meet_text(false);
    nest_bytes items[3];
    char name[16];
    nest_group to = meet_group(group, name);
    post_begin();
    int result =
        sim_chance(50)
            ? nest_broadcast_list_group(talk->session, to, all, meet_items(text, items), items)
            : nest_broadcastf_group(talk->session, to, all, "%s", (const char *)text->bytes);
    if (result != (meet_too_large(text->n) ? -1 : 0) || (result == -1 && errno != EMSGSIZE)) {
        sim_broken(talk, "nest_broadcast of %u bytes: %s", (unsigned)text->n, strerror(errno));
    }
    if (result == 0 && text->n > 0) {
        post_sent_group(group, text->bytes, text->n, all ? NULL : talk);
    }
}

/* One that is open, opening or closing; NULL: there is none. */
static struct sim_talk *meet_somebody(void) {
    struct sim_talk *talk = sim.talks;
    for (uint32_t i = sim_random(sim.live); i > 0 && talk != NULL; i--) {
        talk = talk->next;
    }
    return talk != NULL && talk->session != NULL ? talk : NULL;
}

/* Of one that may have ended long ago, or never was. */
static uint64_t meet_id(struct sim_talk *own) {
    struct sim_talk *talk = sim_chance(10) ? own : meet_somebody();
    if (talk == NULL || sim_chance(35)) {
        return post_ended();
    }
    uint64_t id = nest_id(talk->session);
    return sim_chance(10) ? id + (UINT64_C(1) << sim_random(64)) : id;
}

static struct sim_talk *meet_of(uint64_t id) {
    struct sim_talk *talk = sim.talks;
    while (talk != NULL && !(post_reaches(talk) && nest_id(talk->session) == id)) {
        talk = talk->next;
    }
    return talk;
}

static void meet_tell(struct sim_talk *talk) {
    const struct meet_text *text = meet_text(false);
    uint64_t id = meet_id(talk);
    struct sim_talk *to = meet_of(id);
    nest_bytes items[3];
    int wanted = meet_too_large(text->n) ? EMSGSIZE : to == NULL ? ESRCH : 0;
    post_begin();
    int result = sim_chance(50) ? nest_send_list(talk->session, id, meet_items(text, items), items)
                                : nest_sendf(talk->session, id, "%s", (const char *)text->bytes);
    int error = result == 0 ? 0 : errno;
    if (error != wanted || nest_alive(id) != (to != NULL)) {
        sim_broken(talk, "nest_send of %u bytes to %llu: %s", (unsigned)text->n,
                   (unsigned long long)id, strerror(error));
    }
    if (error == 0 && text->n > 0) {
        post_sent(to, text->bytes, text->n);
    }
}

/* -- another loop: what it has sent is in the mailbox */

static void meet_elsewhere_one(void) {
    static uint8_t mail[sizeof(struct nest__groups_head) + NEST__SEND_MOST];
    const struct meet_text *text = meet_text(true);
    const struct sim_talk *talk = meet_somebody();
    if (talk != NULL && sim_chance(40)) {
        bool wrong = sim_chance(20); /* one of long ago, or of a slot that nobody has had */
        nest__ref to = talk->session->self;
        to.slot += wrong && sim_chance(50) ? 1000 : 0;
        to.gen -= wrong;
        if (nest__mail_send(nest__serial, to, NEST__SEND_TEXT, text->bytes, text->n) == 0) {
            post_mailed(wrong ? POST_NOBODY : talk->who, 0, 0, text->bytes, text->n);
        }
        return;
    }
    char name[16];
    uint32_t group = meet_draw_group();
    struct nest__groups_head head = {.sent = post_clock()};
    (void)groups_key(&head.key, meet_group(group, name));
    memcpy(mail, &head, sizeof head);
    memcpy(mail + sizeof head, text->bytes, text->n);
    if (nest__mail_send(nest__serial, (nest__ref){.slot = NEST__NO_NUMBER}, NEST__SEND_GROUP, mail,
                        (uint32_t)sizeof head + text->n) == 0) {
        post_mailed(0, group, head.sent, text->bytes, text->n);
    }
}

bool meet_elsewhere(void) {
    if (!SIMULATE_MEETS || !sim_chance(meet.elsewhere)) {
        return false;
    }
    for (uint32_t count = 1 + sim_random(4); count > 0; count--) {
        meet_elsewhere_one();
    }
    return true;
}

/* -- what actions do */

void meet_draw(char line[64], struct sim_message *message) {
    static const char *const words[MEET_KINDS] = {"join", "leave", "cast", "all", "tell"};
    message->name = DRAW(MEET_JOIN, MEET_JOIN, MEET_LEAVE, MEET_CAST, MEET_CAST, MEET_ALL,
                         MEET_TELL, MEET_TELL);
    message->number = meet_draw_group();
    message->version = sim_chance(70) ? 1 : sim_random(12); /* how many */
    if (message->name == MEET_JOIN && sim_chance(3)) {
        message->version = NEST__GROUPS_EACH + 1;
    }
    snprintf(line, 64, "MEET %s %u %u\n", words[message->name], (unsigned)message->number,
             (unsigned)message->version);
}

void meet_act(struct sim_talk *talk, const struct sim_message *message) {
    for (uint32_t i = 0; i < message->version; i++) {
        (void)meet_elsewhere();
        switch (message->name) {
        case MEET_JOIN:
            meet_join(talk, (message->number + i) % SIM_GROUPS);
            break;
        case MEET_LEAVE:
            meet_leave(talk, (message->number + i) % SIM_GROUPS);
            break;
        case MEET_TELL:
            meet_tell(talk);
            break;
        default:
            meet_cast(talk, message->number, message->name == MEET_ALL);
        }
        if (sim_chance(20)) { /* and waits perhaps */
            acts_say_number(talk, "sent", (long)i);
        }
    }
    if (sim_chance(5)) {
        meet_misname(talk);
    }
    acts_say_number(talk, "met", (long)message->version);
}

/* START joins, and END still tells the others. */
void meet_start(struct sim_talk *talk) {
    if (meet_draws()) {
        meet_join(talk, meet_draw_group());
    }
}

void meet_end(struct sim_talk *talk) {
    if (meet_draws()) {
        meet_join(talk, meet_draw_group());
        meet_cast(talk, meet_draw_group(), sim_chance(50));
    }
}
