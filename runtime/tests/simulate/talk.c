/* talk.c: what a conversation's client gets, against what the server has promised.
 *
 * Called by io in place of command.c, by the hooks, by acts.c. State: the conversations that are
 * open. The oracle: a client's messages were drawn one by one, so it is known which rule takes
 * which bytes, and what each action finds; what a directive has accepted must arrive, in order,
 * unless the connection was cut. */
#include "simulate.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct sim sim;
static uint64_t talk_ids[64]; /* by slot: the latest */

void sim_broken(const struct sim_talk *talk, const char *format, ...) {
    va_list arguments;
    fflush(stdout);
    fprintf(stderr, "broken: ");
    if (talk != NULL) {
        fprintf(stderr, "conversation %u: ", (unsigned)talk->who);
    }
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n  seed %llu, after %u conversations, at %u ms\n",
            (unsigned long long)sim.seed, (unsigned)sim.opened, (unsigned)nest__now());
    if (talk != NULL) {
        fprintf(stderr,
                "  sent %u of %u, received %u, taken %u; replied %zu, promised %zu, got %zu\n",
                (unsigned)talk->sent, (unsigned)talk->in_n, (unsigned)talk->received,
                (unsigned)talk->taken, talk->want_n, talk->said, talk->got);
        fprintf(stderr, "  message %u of %u: rule %u at %u, %u and %u bytes\n", (unsigned)talk->at,
                (unsigned)talk->count, talk->messages[talk->at].rule,
                (unsigned)talk->messages[talk->at].at, (unsigned)talk->messages[talk->at].head,
                (unsigned)talk->messages[talk->at].body);
    }
    _exit(9);
}

#include "said.c"

void nest__say(const char *format, ...) {
    va_list arguments;
    if (strncmp(format, "new clients must wait", 21) == 0) {
        newcomers_said();
    }
    va_start(arguments, format);
    sim_said(format, arguments);
    va_end(arguments);
}

struct sim_talk *talk_find(uint32_t who) {
    struct sim_talk *talk = sim.talks;
    while (talk != NULL && talk->who != who) {
        talk = talk->next;
    }
    return talk;
}

struct sim_talk *talk_of(const nest_session *s) {
    struct sim_talk *talk = talk_find((uint32_t)s->c0.fd);
    if (talk == NULL) {
        sim_broken(NULL, "an action runs for conversation %d, which is closed", (int)s->c0.fd);
    }
    return talk;
}

void talk_free(struct sim_talk *talk) {
    struct sim_talk **at = &sim.talks;
    while (*at != talk) {
        at = &(*at)->next;
    }
    *at = talk->next;
    post_free(talk);
    (free)(talk->in);
    (free)(talk->want);
    (free)(talk->arrived.entries);
    (free)(talk->queued.entries);
    (free)(talk);
    sim.live--;
}

void talk_want(struct sim_talk *talk, const void *bytes, size_t n) {
    if (talk->want_n + n > talk->want_cap) {
        talk->want_cap = (talk->want_n + n) * 2 + 256;
        talk->want = (realloc)(talk->want, talk->want_cap);
    }
    if (n > 0) {
        memcpy(talk->want + talk->want_n, bytes, n);
        talk->want_n += n;
    }
}

uint32_t talk_received(const struct sim_talk *talk) {
    const struct script_client *client = script_client(talk->who);
    return client == NULL || client->reset ? talk->received : talk->sent - (uint32_t)client->n;
}

/* -- what io says of it */

int nest__command_out(uint32_t who, const uint8_t *bytes, size_t n) {
    struct sim_talk *talk = talk_find(who);
    if (who > SCRIPT_CONVERSATIONS) {
        line_out(line_find(who), bytes, n);
        return 0;
    }
    if (talk == NULL) {
        sim_broken(NULL, "output for conversation %u, which is closed", (unsigned)who);
    }
    if (talk->reset) {
        sim_broken(talk, "output after its reset");
    }
    if (talk->getting && n > talk->want_n - talk->got) { /* of a file, past the queue */
        uint64_t direct = n - (talk->want_n - talk->got);
        files_reply_bytes(talk, bytes + n - direct, (size_t)direct);
        talk->direct += direct;
    }
    if (n > talk->want_n - talk->got || memcmp(bytes, talk->want + talk->got, n) != 0) {
        sim_broken(talk, "it got %zu bytes that no action has replied", n);
    }
    if (talk->room != UINT64_MAX) {
        if (n > talk->room) {
            sim_broken(talk, "it got more than its client takes");
        }
        talk->room -= n;
    }
    talk->got += n;
    talk->progress = nest__now();
    talk->taken_once = true;
    return 0;
}

int nest__command_closed(uint32_t who, bool cut) {
    struct sim_talk *talk = talk_find(who);
    if (who > SCRIPT_CONVERSATIONS) {
        line_closed(line_find(who), cut);
        return 0;
    }
    if (talk == NULL) {
        sim_broken(NULL, "conversation %u is closed twice", (unsigned)who);
    }
    const nest_session *s = talk->session;
    if (talk->starts != 1 || talk->ends != 1 || s == NULL) {
        sim_broken(talk, "closed after %u START and %u END", (unsigned)talk->starts,
                   (unsigned)talk->ends);
    }
    if (talk->acting) {
        sim_broken(talk, "closed while its action runs");
    }
    bool may_miss =
        talk->reset || cut || nest__loop.cut || sim_pardoned(talk) || s->reason == NEST_GONE;
    if (!may_miss && talk->got != talk->want_n) {
        sim_broken(talk, "closed with replies that never arrived");
    }
    if (cut && nest__loop.cut && s->reason == NEST_SHUTDOWN && nest__cut() == 0) {
        sim_broken(talk, "it is cut, and not counted");
    }
    if (cut && !nest__loop.cut && s->reason != NEST_TIMEOUT && !talk->file_cut) {
        moment_wait_timeout(talk); /* after its END, its client did not take the rest */
    }
    sim.closed++;
    lines_leave(talk);
    talk_free(talk);
    return 0;
}

/* -- hooks */

void sim_on_open(nest_session *s) {
    struct sim_talk *talk = talk_of(s);
    if (talk->session != NULL) {
        sim_broken(talk, "opened twice");
    }
    uint64_t id = nest_id(s);
    if (s->self.slot >= sizeof talk_ids / sizeof talk_ids[0] || id == talk_ids[s->self.slot]) {
        sim_broken(talk, "its number is that of the one before in its slot");
    }
    talk_ids[s->self.slot] = id;
    talk->session = s;
    talk->gen = s->self.gen;
    talk->point = talk->drained = nest__now();
    talk->late = sim.draining;
}

void sim_on_take(nest_session *s, const struct nest__rule *rule, const uint8_t *p, uint32_t n) {
    struct sim_talk *talk = talk_of(s);
    const struct sim_message *message = &talk->messages[talk->at];
    uint32_t number = (uint32_t)(rule - nest__rules);
    if (talk->astray || talk->at >= talk->count) {
        sim_broken(talk, "rule %s takes %u bytes where there is no message", rule->name,
                   (unsigned)n);
    }
    if (number != message->rule || n != message->head || talk->taken != message->at) {
        sim_broken(talk, "rule %s takes %u bytes at %u; it should be %u, %u bytes at %u",
                   rule->name, (unsigned)n, (unsigned)talk->taken, (unsigned)message->rule,
                   (unsigned)message->head, (unsigned)message->at);
    }
    if (talk->taken + n > talk->sent || memcmp(p, talk->in + talk->taken, n) != 0) {
        sim_broken(talk, "rule %s is given other bytes than were sent", rule->name);
    }
    if (talk->told) {
        sim_broken(talk, "it was told of the stop in an action, and takes another message");
    }
    talk->taken += n;
    talk->at++;
    talk->unfinished = false;
}

/* Whole, before a wait: what the action said. */
void sim_on_reply(nest_session *s, const void *p, size_t n) {
    struct sim_talk *talk = talk_of(s);
    if (talk->getting) {
        files_reply_bytes(talk, p, n);
        return;
    }
    if (!talk->acting) {
        post_said(talk, p, n);
        return;
    }
    if (n > talk->want_n || memcmp(talk->want + talk->want_n - n, p, n) != 0) {
        sim_broken(talk, "a reply of %zu bytes is queued that no action has made", n);
    }
}

void sim_on_file(nest_session *s, uint64_t n) {
    struct sim_talk *talk = talk_of(s);
    if (n == 0 || n != talk->direct) {
        sim_broken(talk, "%llu bytes of a file were sent, %llu are told of",
                   (unsigned long long)talk->direct, (unsigned long long)n);
    }
    talk->direct = 0;
}

void sim_on_acted(nest_session *s, uint64_t taken) {
    const struct sim_talk *talk = talk_of(s);
    if (taken != talk->took && talk->failed == 0) {
        sim_broken(talk, "an action took %llu bytes, the engine says %llu",
                   (unsigned long long)talk->took, (unsigned long long)taken);
    }
}

void sim_on_timer(nest_session *s, const struct nest__timer *timer) {
    moment_timer(talk_of(s), timer->after);
}

/* Whether a conversation may end so, here and now. */
static bool talk_justified(struct sim_talk *talk, const nest_session *s) {
    const struct sim_message *next = &talk->messages[talk->at];
    uint32_t unread = talk->sent - talk->taken;
    switch (s->reason) {
    case NEST_EOF:
        return talk->eof && unread == 0;
    case NEST_GONE:
        return talk->reset || sim_pardoned(talk);
    case NEST_INPUT:
        if (talk->dead) {
            return unread > 0;
        }
        return (talk->astray || talk->at == talk->count)
                   ? talk->astray && talk->eof && unread > 0
                   : (next->rule == SIM_WRONG && unread >= next->head) || (talk->eof && unread > 0);
    case NEST_OVERFLOW:
        return !talk->astray && !talk->dead && talk->at < talk->count && next->rule == SIM_LONG &&
               unread >= next->head;
    case NEST_TIMEOUT:
        if (!talk->behind) {
            moment_timeout(talk);
        }
        return true;
    case NEST_SHUTDOWN:
        return nest__loop.cut || (sim.draining && !talk->unfinished);
    default:
        return false;
    }
}

void sim_on_end(nest_session *s) {
    struct sim_talk *talk = talk_of(s);
    if (talk->ends != 1) {
        sim_broken(talk, "END has run %u times", (unsigned)talk->ends);
    }
    post_leave(talk);
}

/* Before END's action. */
void talk_ending(struct sim_talk *talk, const nest_session *s) {
    bool right = talk->end != NEST_OPEN ? s->reason == talk->end : talk_justified(talk, s);
    if (!right && talk->end != NEST_OPEN) { /* what has come meanwhile may come before */
        right = (talk->reset && s->reason == NEST_GONE) ||
                (sim.draining && talk->end == NEST_STUCK && s->reason == NEST_SHUTDOWN) ||
                (nest__loop.cut && s->reason == NEST_SHUTDOWN) ||
                ((talk->failed == ETIMEDOUT || talk->behind) && s->reason == NEST_TIMEOUT);
    }
    if (talk->file_cut && sim_pardoned(talk)) {
        right = right || s->reason == NEST_CLOSED || (sim.draining && s->reason == NEST_SHUTDOWN);
    }
    if (!right && !(sim_pardoned(talk) && s->reason == NEST_GONE)) {
        sim_broken(talk, "it ends as %s", nest_reason_text(talk->session));
    }
    talk->over = true;
}
