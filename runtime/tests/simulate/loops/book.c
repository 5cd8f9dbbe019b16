/* book.c: which message must, may and must not reach whom.
 *
 * Called by acts.c around each directive, and by the runtime's files in place of their calls.
 * State: in struct sim. The oracle: processes have turns, so everything that happens has an order.
 * Who was a member before a message was begun, and is one when it has been sent, must get it; who
 * became one or left meanwhile may get it; nobody else. What a full mailbox or a death takes away
 * is known from the places where it happens. */
#include "loops.h"

#include "../../../service/groups/published.h"
#include "../../../service/mail/mail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    BOOK_RECORD = 24, /* bytes that a message counts beside its own, where it waits */
    BOOK_HEADER = 24  /* and in a mailbox */
};

struct sim_message *book_message(uint32_t number) {
    if (number <= sim->checked || number > sim->numbers) {
        sim_broken("message %u comes, and all up to %u have been accounted for", (unsigned)number,
                   (unsigned)sim->checked);
    }
    return &sim->messages[number % SIM_MESSAGES];
}

bool book_has_space(void) {
    return sim->numbers - sim->checked < SIM_MESSAGES - 200;
}

#define BOOK_EACH(number) for (uint32_t number = sim->checked + 1; number <= sim->numbers; number++)

nest_group book_group(uint32_t group) {
    static const char *const names[] = {"0", "1", "2"};
    _Static_assert(sizeof names / sizeof names[0] * 2 == SIM_GROUPS, "names of groups");
    return group % 2 == 0 ? nest_group_number(group / 2) : nest_group_text(names[group / 2]);
}

/* -- queues */

static void book_push(struct sim_queue *queue, uint32_t number) {
    if (queue->n == SIM_HELD) {
        sim_broken("more messages wait than can");
    }
    queue->all[(queue->first + queue->n++) % SIM_HELD] = number;
}

static uint32_t book_first(const struct sim_queue *queue) {
    return queue->n == 0 ? 0 : queue->all[queue->first % SIM_HELD];
}

static void book_pop(struct sim_queue *queue) {
    queue->first++;
    queue->n--;
}

/* -- texts: "#17:" and letters that follow from the number */

static uint8_t book_letter(uint32_t number, uint32_t at) {
    return (uint8_t)('a' + (at * 7 + number) % 26);
}

void book_text(uint32_t number, uint8_t *to) {
    uint32_t n = book_message(number)->n;
    uint32_t head = (uint32_t)snprintf((char *)to, 16, "#%u:", (unsigned)number);
    for (uint32_t i = head; i < n; i++) {
        to[i] = book_letter(number, i);
    }
}

static uint32_t book_number(const uint8_t *bytes, uint32_t n) {
    uint32_t number = 0, i = 1;
    for (; i < n && i < 11 && bytes[i] >= '0' && bytes[i] <= '9'; i++) {
        number = number * 10 + (uint32_t)(bytes[i] - '0');
    }
    if (n == 0 || bytes[0] != '#' || i >= n || bytes[i] != ':') {
        sim_broken("%u bytes come that are no message", (unsigned)n);
    }
    return number;
}

/* -- sending */

uint32_t book_begin(uint32_t sender, uint32_t n) {
    uint32_t number = ++sim->numbers;
    struct sim_message *message = book_message(number);
    *message = (struct sim_message){.n = n, .sender = sender};
    message->from = sender == SIM_PLACES ? 0 : sim->all[sender].number;
    sim->processes[sim_own].out = number;
    sim->messages_all++;
    return number;
}

void book_to_group(uint32_t number, uint32_t group, const struct sim_client *except) {
    struct sim_message *message = book_message(number);
    message->group = (uint8_t)group;
    for (uint32_t place = 0; place < SIM_PLACES; place++) {
        const struct sim_client *client = &sim->all[place];
        uint8_t member = client->state == SIM_FREE ? SIM_NO_MEMBER : client->member[group];
        if (client != except && member != SIM_NO_MEMBER) {
            message->may |= SIM_BIT(place);
            message->must |= member == SIM_MEMBER && !client->behind ? SIM_BIT(place) : 0;
        }
    }
}

void book_to_client(uint32_t number, uint32_t place) {
    struct sim_message *message = book_message(number);
    const struct sim_client *client = &sim->all[place];
    message->to = client->number;
    message->may = SIM_BIT(place);
    message->must = client->state == SIM_OPEN && !client->behind ? message->may : 0;
}

void book_refused(uint32_t number) {
    struct sim_message *message = book_message(number);
    if (message->got != 0) {
        sim_broken("message %u was refused, and has come", (unsigned)number);
    }
    message->must = message->may = 0;
}

void book_end(uint32_t number) {
    book_message(number)->over = true;
    sim->processes[sim_own].out = 0;
}

/* Everybody whom the loop serves. */
static uint64_t book_of_loop(uint32_t loop) {
    uint64_t all = 0;
    for (uint32_t place = 0; place < SIM_PLACES; place++) {
        const struct sim_client *client = &sim->all[place];
        all |= client->state != SIM_FREE && client->loop == loop ? SIM_BIT(place) : 0;
    }
    return all;
}

int book_send(uint16_t serial, nest__ref to, uint32_t kind, const void *bytes, uint32_t n) {
    uint32_t receiver = serial % sim->count;
    uint64_t length = BOOK_HEADER + (n + 7) / 8 * 8;
    uint64_t *sent = &sim->sent[sim_own][receiver];
    struct sim_message *message = book_message(sim->processes[sim_own].out);
    uint64_t held = *sent - sim->taken[sim_own][receiver]; /* at most */
    int error = nest__mail_send(serial, to, kind, bytes, n);
    if (error == 0) {
        *sent += length;
        return 0;
    }
    if (error != -EAGAIN) {
        sim_broken("a message of %u bytes cannot be sent: %s", (unsigned)n, strerror(-error));
    }
    if (held + length <= RINGS_BYTES) {
        sim_broken("a mailbox is full, and holds at most %llu bytes", (unsigned long long)held);
    }
    uint64_t lost = book_of_loop(receiver);
    if ((message->got & lost) != 0) {
        sim_broken("a mailbox is full, and a message of %u bytes has come", (unsigned)n);
    }
    message->must &= ~lost;
    message->may &= ~lost;
    message->failed = true;
    sim->full++;
    return error;
}

/* -- receiving */

/* More waits for it than may. */
static void book_overflow(struct sim_client *client, uint64_t counts) {
    if (!sim->lossy) {
        client->behind = true;
        client->held.n = 0;
        client->held_bytes = 0;
        book_forget(client_place(client));
        return;
    }
    while (client->held.n > 0 && client->held_bytes + counts > sim->output) {
        client->held_bytes -= book_message(book_first(&client->held))->n + BOOK_RECORD;
        book_pop(&client->held);
    }
}

static void book_held(struct sim_client *client, const uint8_t *bytes, uint32_t n) {
    uint32_t place = client_place(client), number = book_number(bytes, n);
    struct sim_message *message = book_message(number);
    uint64_t counts = (uint64_t)n + BOOK_RECORD;
    if (n != message->n) {
        sim_broken("message %u comes with %u of %u bytes", (unsigned)number, (unsigned)n,
                   (unsigned)message->n);
    }
    if ((message->got & SIM_BIT(place)) != 0) {
        sim_broken("message %u comes to client %u twice", (unsigned)number,
                   (unsigned)client->number);
    }
    if ((message->may & SIM_BIT(place)) == 0) {
        sim_broken("message %u comes to client %u, and is not for it", (unsigned)number,
                   (unsigned)client->number);
    }
    uint32_t last = client->last[message->sender]; /* perhaps of another client in its place */
    if (last > number && book_message(last)->from == message->from) {
        sim_broken("message %u comes to client %u behind message %u of the same sender",
                   (unsigned)number, (unsigned)client->number, (unsigned)last);
    }
    client->last[message->sender] = number;
    message->got |= SIM_BIT(place);
    if (client->behind) {
        return;
    }
    if (client->held.n > 0 && client->held_bytes + counts > sim->output) {
        book_overflow(client, counts);
    }
    if (!client->behind) {
        book_push(&client->held, number);
        client->held_bytes += counts;
    }
}

void book_hold(nest_session *s, uint32_t kind, struct nest__mail_body *body) {
    const struct mail_entry *entry = &mail_all[s->self.slot];
    struct sim_client *client = client_of(s);
    book_held(client, body->bytes, body->n);
    nest__mail_hold(s, kind, body);
    if (entry->behind != client->behind || entry->bytes != client->held_bytes) {
        sim_broken("%llu bytes wait for client %u%s, and it should be %llu%s",
                   (unsigned long long)entry->bytes, (unsigned)client->number,
                   entry->behind ? ", which is behind" : "", (unsigned long long)client->held_bytes,
                   client->behind ? ", behind" : "");
    }
}

bool book_take(struct nest__mail *mail) {
    uint64_t sent[SIM_PROCESSES];
    for (uint32_t process = 0; process <= sim->count; process++) {
        sent[process] = sim->sent[process][sim_own];
    }
    bool taken = nest__mailbox_take(mail);
    if (taken && mail->to.slot != NEST__NO_NUMBER) {
        book_held(client_of(nest__slot_at(mail->to.slot)), mail->bytes, mail->n);
    }
    for (uint32_t process = 0; !taken && process <= sim->count; process++) {
        if (rings_tail(process) == rings.heads[process]) { /* else more is dropped the next time */
            sim->taken[process][sim_own] = sent[process];
        }
    }
    return taken;
}

/* What was sent to the process before this one is dropped. */
void book_begin_mailbox(void) {
    for (uint32_t process = 0; sim_own < sim->count && process <= sim->count; process++) {
        sim->taken[process][sim_own] = sim->sent[process][sim_own];
    }
}

void book_mail(nest_session *s, const uint8_t *bytes, uint32_t n) {
    struct sim_client *client = client_of(s);
    uint32_t number = book_number(bytes, n);
    if (client->acts || client->state != SIM_OPEN || client->behind) {
        sim_broken("message %u is handed over in an action, or too late", (unsigned)number);
    }
    if (number != book_first(&client->held)) {
        sim_broken("message %u is handed over, and the next is %u", (unsigned)number,
                   (unsigned)book_first(&client->held));
    }
    book_pop(&client->held);
    client->held_bytes -= n + BOOK_RECORD;
    book_push(&client->given, number);
}

/* The next bytes of the message that arrives. How many. */
static size_t book_reads(struct sim_client *client, const uint8_t *bytes, size_t n) {
    uint8_t text[SIM_LARGEST];
    uint32_t size = book_message(client->reads)->n, left = size - client->reads_at;
    n = n < left ? n : left;
    book_text(client->reads, text);
    if (memcmp(text + client->reads_at, bytes, n) != 0) {
        sim_broken("message %u arrives at client %u with other bytes", (unsigned)client->reads,
                   (unsigned)client->number);
    }
    client->reads_at += (uint32_t)n;
    client->reads = client->reads_at == size ? 0 : client->reads;
    return n;
}

void book_arrived(uint32_t place, const uint8_t *bytes, size_t n) {
    struct sim_client *client = &sim->all[place];
    for (size_t at = 0; at < n;) {
        if (client->reads != 0) {
            at += book_reads(client, bytes + at, n - at);
        } else if (client->line || bytes[at] != '#') {
            client->line = bytes[at++] != '\n';
        } else if ((client->reads = book_first(&client->given)) != 0) {
            client->reads_at = 0;
            book_pop(&client->given);
        } else {
            sim_broken("client %u reads a message that it was not given", (unsigned)client->number);
        }
    }
}

/* -- members */

void book_join(struct sim_client *client, uint32_t group, bool begins) {
    sim->changes[group]++;
    client->member[group] = begins ? SIM_JOINS : SIM_MEMBER;
    BOOK_EACH(number) {
        struct sim_message *message = book_message(number);
        if (begins && !message->over && message->to == 0 && message->group == group) {
            message->may |= SIM_BIT(client_place(client));
        }
    }
}

void book_leave(struct sim_client *client, uint32_t group, bool begins) {
    uint64_t bit = SIM_BIT(client_place(client));
    sim->changes[group]++;
    client->member[group] = begins ? SIM_LEAVES : SIM_NO_MEMBER;
    BOOK_EACH(number) {
        struct sim_message *message = book_message(number);
        if (message->to != 0 || message->group != group || (message->got & bit) != 0) {
            continue;
        }
        if (begins) {
            message->must &= message->over ? UINT64_MAX : ~bit;
        } else {
            if ((message->must & bit) != 0) {
                sim_broken("client %u has left a group before message %u came, which was sent "
                           "earlier",
                           (unsigned)client->number, (unsigned)number);
            }
            message->may &= ~bit;
        }
    }
}

void book_members(uint32_t group, uint64_t *least, uint64_t *most) {
    *least = *most = 0;
    for (uint32_t place = 0; place < SIM_PLACES; place++) {
        const struct sim_client *client = &sim->all[place];
        if (client->state != SIM_FREE) {
            *least += client->member[group] == SIM_MEMBER;
            *most += client->member[group] != SIM_NO_MEMBER;
        }
    }
    for (uint32_t process = 0; process < sim->count; process++) {
        *most += sim->processes[process].ghosts[group];
    }
}

/* -- ends */

void book_forget(uint32_t place) {
    BOOK_EACH(number) {
        book_message(number)->must &= ~SIM_BIT(place);
    }
}

static void book_nothing(uint32_t place) {
    book_forget(place);
    BOOK_EACH(number) {
        book_message(number)->may &= ~SIM_BIT(place);
    }
}

static void book_ended(const struct sim_client *client, bool reaped) {
    uint32_t i = sim->ended_n++ % SIM_IDS;
    sim->ended[i].id = client->id;
    sim->ended[i].reaped = reaped;
    sim->ended[i].loop = client->loop;
}

void book_closing(struct sim_client *client) {
    client->state = SIM_CLOSES;
    book_forget(client_place(client));
    for (uint32_t group = 0; group < SIM_GROUPS; group++) {
        if (client->member[group] != SIM_NO_MEMBER) {
            sim->changes[group]++;
            client->member[group] = SIM_LEAVES;
        }
    }
}

void book_closed(struct sim_client *client) {
    if (client->state != SIM_CLOSES) {
        sim_broken("client %u ends without its END", (unsigned)client->number);
    }
    client->state = SIM_CLOSED;
    client->held.n = 0;
    client->held_bytes = 0;
    for (uint32_t group = 0; group < SIM_GROUPS; group++) {
        sim->changes[group] += client->member[group] != SIM_NO_MEMBER;
        client->member[group] = SIM_NO_MEMBER;
    }
    book_nothing(client_place(client));
    book_ended(client, true);
}

/* A process was killed, wherever it was. What it was sending may come, or not. */
void book_died(uint32_t process) {
    struct sim_process *dead = &sim->processes[process];
    for (uint32_t place = 0; place < SIM_PLACES; place++) {
        struct sim_client *client = &sim->all[place];
        if (client->state == SIM_FREE || client->loop != process) {
            continue;
        }
        for (uint32_t group = 0; group < SIM_GROUPS; group++) {
            dead->ghosts[group] += client->member[group] != SIM_NO_MEMBER;
        }
        if (client->state != SIM_CLOSED && client->id != 0) {
            book_ended(client, false);
        }
        book_nothing(place);
        client->state = SIM_FREE;
    }
    if (dead->out != 0) {
        book_message(dead->out)->must = 0;
        book_message(dead->out)->over = true;
        dead->out = 0;
        for (uint32_t loop = 0; loop < sim->count; loop++) {
            sim->sent[process][loop] += 2 * (uint64_t)SIM_LARGEST; /* perhaps it was */
        }
    }
    for (uint32_t group = 0; group < SIM_GROUPS; group++) {
        sim->changes[group]++;
    }
}

void book_reaped(uint32_t process) {
    struct sim_process *dead = &sim->processes[process];
    memset(dead->ghosts, 0, sizeof dead->ghosts);
    for (uint32_t i = 0; i < SIM_IDS; i++) {
        sim->ended[i].reaped |= sim->ended[i].loop == process;
    }
    for (uint32_t group = 0; group < SIM_GROUPS; group++) {
        sim->changes[group]++;
    }
}

/* -- everything is at rest */

static void book_check_client(const struct sim_client *client) {
    if (client->state == SIM_CLOSES || client->state == SIM_CLOSED) {
        sim_broken("client %u ends, and is not closed", (unsigned)client->number);
    }
    if (client->behind) {
        sim_broken("client %u is behind, and goes on", (unsigned)client->number);
    }
    if (client->held.n > 0 || client->given.n > 0 || client->reads != 0) {
        sim_broken("message %u waits for client %u, and nothing is in its way",
                   (unsigned)(client->held.n > 0    ? book_first(&client->held)
                              : client->given.n > 0 ? book_first(&client->given)
                                                    : client->reads),
                   (unsigned)client->number);
    }
    if (client->state == SIM_OPEN && !nest_alive(client->id)) {
        sim_broken("client %u is open, and nest_alive does not know it", (unsigned)client->number);
    }
}

static void book_check_group(uint32_t group) {
    struct nest__groups_key key;
    uint64_t least, most, members;
    (void)groups_key(&key, book_group(group));
    members = nest__groups_elsewhere(&key);
    book_members(group, &least, &most);
    if (least != most || members != least) {
        sim_broken("group %u has %llu members, and nest_members says %llu", (unsigned)group,
                   (unsigned long long)least, (unsigned long long)members);
    }
}

void book_check(void) {
    BOOK_EACH(number) {
        const struct sim_message *message = book_message(number);
        uint64_t lost = message->must & ~message->got;
        for (uint32_t place = 0; place < SIM_PLACES; place++) {
            if ((lost & SIM_BIT(place)) != 0) {
                sim_broken("message %u of %u bytes never comes to client %u, and it should",
                           (unsigned)number, (unsigned)message->n,
                           (unsigned)sim->all[place].number);
            }
        }
    }
    for (uint32_t place = 0; place < SIM_PLACES; place++) {
        if (sim->all[place].state != SIM_FREE) {
            book_check_client(&sim->all[place]);
        }
    }
    for (uint32_t group = 0; group < SIM_GROUPS; group++) {
        book_check_group(group);
    }
    for (uint32_t i = 0; i < sim->ended_n && i < SIM_IDS; i++) {
        if (nest_alive(sim->ended[i].id)) {
            sim_broken("nest_alive knows a client that has ended");
        }
    }
}

void book_forget_all(void) {
    sim->checked = sim->numbers;
}
