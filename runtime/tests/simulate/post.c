/* post.c: what others send to a conversation: who must get it, in which order, and what may wait.
 *
 * Called by meet.c, by the hooks, and by service/mail in place of the mailbox. State: in each
 * conversation what waits for it and when it has joined its groups; what another loop has sent and
 * the mailbox has not given out. The oracle: one loop does one thing after the other, so all that
 * is sent, joined and left has one order, and it is known whom each message is for. What waits is
 * looked up in the service only where memory has failed, to learn what was lost. */
#include "simulate.h"

#include "../../service/mail/mail.h"
#include "../../workers/mailbox.h"

#include <stdio.h>
#include <stdlib.h>

enum { POST_RECORD = 24 /* bytes that a message counts beside its own */ };

struct sim_letter { /* a message that waits */
    struct sim_letter *next;
    uint32_t n;
    uint8_t bytes[];
};

struct post_mail { /* of another loop, in the mailbox */
    struct post_mail *next;
    uint32_t who, group; /* who: 0 for a group */
    uint64_t sent;
    struct sim_letter *letter;
};

static struct {
    uint64_t clock;                 /* each look at it is later than the one before */
    struct post_mail *first, *last; /* in the mailbox */
    struct post_mail *taken;        /* out of it, and handed to the service */
    uint32_t faults;                /* that had struck when memory was last known to be there */
    uint64_t ended[16];             /* ids of those that ended last */
    uint32_t ended_n;
} post;

uint64_t post_clock(void) {
    return ++post.clock;
}

/* From its first moment until its END has run. */
bool post_reaches(const struct sim_talk *talk) {
    return talk->session != NULL && (talk->ends == 0 || talk->acting);
}

uint64_t post_ended(void) {
    uint32_t most = sizeof post.ended / sizeof post.ended[0];
    uint32_t n = post.ended_n < most ? post.ended_n : most;
    return n == 0 ? 0 : post.ended[sim_random(n)];
}

/* -- what waits for a conversation */

static struct sim_letter *post_letter(const uint8_t *bytes, uint32_t n) {
    struct sim_letter *letter = (malloc)(sizeof *letter + n);
    letter->next = NULL;
    letter->n = n;
    memcpy(letter->bytes, bytes, n);
    return letter;
}

static void post_drop(struct sim_talk *talk, struct sim_letter **at) {
    struct sim_letter *letter = *at;
    *at = letter->next;
    talk->waits -= letter->n + POST_RECORD;
    (free)(letter);
}

static void post_clear(struct sim_talk *talk) {
    while (talk->letters != NULL) {
        post_drop(talk, &talk->letters);
    }
}

/* As the service does it where memory does not fail; else post_look says what has become of it. */
static void post_to(struct sim_talk *talk, const uint8_t *bytes, uint32_t n) {
    uint64_t counts = n + POST_RECORD, most = nest__config.output_buffer;
    struct sim_letter **at = &talk->letters;
    if (talk->behind) {
        return;
    }
    if (post.faults == nest__faults_struck && *at != NULL && talk->waits + counts > most) {
        if (!NEST__LOSSY) {
            talk->behind = true;
            post_clear(talk);
            return;
        }
        while (*at != NULL && talk->waits + counts > most) {
            post_drop(talk, at);
        }
    }
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = post_letter(bytes, n);
    talk->waits += counts;
}

static void post_to_group(uint32_t group, uint64_t sent, const uint8_t *bytes, uint32_t n,
                          const struct sim_talk *except) {
    for (struct sim_talk *talk = sim.talks; talk != NULL; talk = talk->next) {
        bool member = talk->joined[group] != 0 && talk->joined[group] <= sent;
        if (member && talk != except) {
            post_to(talk, bytes, n);
        }
    }
}

/* Compares what waits with what the service holds; where memory has failed, some may be lost. */
static void post_look_at(struct sim_talk *talk, bool lost) {
    const struct mail_entry *entry = &mail_all[talk->session->self.slot];
    struct sim_letter **at = &talk->letters;
    if (entry->behind && !talk->behind && lost && !NEST__LOSSY) {
        talk->behind = talk->unlucky = true;
        post_clear(talk);
    }
    if (talk->unlucky) {
        return;
    }
    if (entry->behind != talk->behind) {
        sim_broken(talk, talk->behind ? "more waits for it than may, and it goes on"
                                      : "it is behind, and not too much waits for it");
    }
    for (const struct mail_held *held = entry->first; held != NULL; held = held->next) {
        const struct nest__mail_body *body = held->body;
        while (*at != NULL &&
               ((*at)->n != body->n || memcmp((*at)->bytes, body->bytes, body->n) != 0) && lost) {
            post_drop(talk, at);
        }
        if (*at == NULL || (*at)->n != body->n || memcmp((*at)->bytes, body->bytes, body->n) != 0) {
            sim_broken(talk, "%u bytes wait for it that are not those sent", (unsigned)body->n);
        }
        at = &(*at)->next;
    }
    while (*at != NULL) {
        if (!lost) {
            sim_broken(talk, "a message of %u bytes for it is lost", (unsigned)(*at)->n);
        }
        post_drop(talk, at);
    }
}

static void post_look(void) {
    bool lost = post.faults != nest__faults_struck;
    for (struct sim_talk *talk = sim.talks; lost && talk != NULL; talk = talk->next) {
        if (post_reaches(talk)) {
            post_look_at(talk, true);
        }
    }
    post.faults = nest__faults_struck;
}

/* -- the mailbox */

static void post_mail_free(struct post_mail *mail) {
    (free)(mail->letter);
    (free)(mail);
}

/* What was taken has been handed out. */
void post_settle(void) {
    struct post_mail *mail = post.taken;
    post.taken = NULL;
    if (mail == NULL) {
        return;
    }
    if (mail->who == 0) {
        post_to_group(mail->group, mail->sent, mail->letter->bytes, mail->letter->n, NULL);
    } else {
        post_to(talk_find(mail->who), mail->letter->bytes, mail->letter->n);
    }
    post_mail_free(mail);
    post_look();
}

/* Before something is sent here, which is later than all that came. */
void post_begin(void) {
    post_settle();
    post.faults = nest__faults_struck;
}

void post_sent(struct sim_talk *to, const uint8_t *bytes, uint32_t n) {
    post_to(to, bytes, n);
    post_look();
}

void post_sent_group(uint32_t group, const uint8_t *bytes, uint32_t n,
                     const struct sim_talk *except) {
    post_to_group(group, UINT64_MAX, bytes, n, except);
    post_look();
}

void post_mailed(uint32_t who, uint32_t group, uint64_t sent, const uint8_t *bytes, uint32_t n) {
    struct post_mail *mail = (malloc)(sizeof *mail);
    *mail = (struct post_mail){
        .who = who, .group = group, .sent = sent, .letter = post_letter(bytes, n)};
    if (post.first == NULL) {
        post.first = mail;
    } else {
        post.last->next = mail;
    }
    post.last = mail;
    script_mailed();
    if (sim.verbose) {
        who == 0
            ? (void)printf("# another loop sends %u bytes to group %u\n", (unsigned)n,
                           (unsigned)group)
            : (void)printf("# another loop sends %u bytes to %u\n", (unsigned)n, (unsigned)who);
    }
}

static struct post_mail *post_next(void) {
    struct post_mail *mail = post.first;
    post.first = mail->next;
    return mail;
}

bool post_take(struct nest__mail *to) {
    post_settle();
    post.faults = nest__faults_struck;
    bool taken = nest__mailbox_take(to);
    while (post.first != NULL && post.first->who != 0) { /* for those who have ended */
        const struct sim_talk *talk = talk_find(post.first->who);
        if (talk != NULL && post_reaches(talk)) {
            break;
        }
        post_mail_free(post_next());
    }
    if (taken != (post.first != NULL)) {
        sim_broken(NULL, taken ? "mail comes that nobody has sent" : "mail is lost");
    }
    post.taken = taken ? post_next() : NULL;
    return taken;
}

/* Nothing that another loop has sent before may still be in the mailbox. */
void post_left(struct sim_talk *talk, uint32_t group) {
    post_settle();
    for (const struct post_mail *mail = post.first; mail != NULL; mail = mail->next) {
        if (mail->who == 0 && mail->group == group && talk->joined[group] != 0 &&
            talk->joined[group] <= mail->sent) {
            sim_broken(talk, "it has left a group before it got what was sent earlier");
        }
    }
    talk->joined[group] = 0;
}

/* -- what the service does */

static bool post_is_next(const struct sim_talk *talk, const void *bytes, size_t n) {
    const struct sim_letter *next = talk->letters;
    return !talk->behind && next != NULL && next->n == n && memcmp(next->bytes, bytes, n) == 0;
}

/* Output is queued while no action runs. */
void post_said(struct sim_talk *talk, const void *bytes, size_t n) {
    post_settle();
    if (talk->ends > 0 || (!talk->unlucky && !post_is_next(talk, bytes, n))) {
        sim_broken(talk, "it is given %zu bytes that are not the next that were sent to it", n);
    }
    talk_want(talk, bytes, n);
    talk->handed = true;
}

void sim_on_mail(nest_session *s, uint32_t kind, const uint8_t *bytes, uint32_t n) {
    struct sim_talk *talk = talk_of(s);
    bool lost = post.faults != nest__faults_struck;
    (void)kind;
    post_settle();
    if (talk->acting || talk->ends > 0) {
        sim_broken(talk, "a message is handed over in its action, or after its END");
    }
    if (talk->unlucky) {
        return;
    }
    if (!post_is_next(talk, bytes, n)) {
        sim_broken(talk, "a message is handed over that is not the next");
    }
    if (!talk->handed && !lost) {
        sim_broken(talk, "a message is handed over, and not queued");
    }
    talk->behind = talk->unlucky = !talk->handed && !NEST__LOSSY;
    talk->handed = false;
    post.faults = nest__faults_struck;
    post_drop(talk, &talk->letters);
    talk->drained = script_later ? nest__now() : talk->drained; /* no time passes until it leaves */
    if (n > nest__config.output_buffer && s->work != NULL) {    /* sent when that was larger */
        talk->out_before = s->work->out.queue.n;
    }
}

/* -- beginnings and ends */

void post_leave(struct sim_talk *talk) {
    post_settle();
    post_clear(talk);
    memset(talk->joined, 0, sizeof talk->joined);
    post.ended[post.ended_n++ % (sizeof post.ended / sizeof post.ended[0])] =
        nest_id(talk->session);
}

void post_free(struct sim_talk *talk) {
    post_clear(talk);
}

void post_check(void) {
    post_settle();
    bool lost = post.faults != nest__faults_struck;
    if (post.first != NULL) {
        sim_broken(NULL, "mail has come, and is not taken");
    }
    for (struct sim_talk *talk = sim.talks; talk != NULL; talk = talk->next) {
        if (!post_reaches(talk)) {
            continue;
        }
        post_look_at(talk, lost);
        if (talk->acting) {
            continue;
        }
        if (talk->behind) {
            sim_broken(talk, "it is behind, its action has ended, and it goes on");
        }
        if (talk->letters != NULL && nest__out_queued(talk->session, &talk->session->c0) == 0) {
            sim_broken(talk, "a message waits for it, and nothing is in its way");
        }
    }
    post.faults = nest__faults_struck;
}

/* The server has ended. How many allocations are kept for later messages. */
uint32_t post_end(void) {
    for (unsigned i = 0; i < GROUPS_CHAINS; i++) {
        if (groups_chains[i] != NULL) {
            sim_broken(NULL, "a group is left, and nobody is its member");
        }
    }
    for (uint32_t slot = 0; slot < nest__slots_ever(); slot++) {
        if (mail_all[slot].first != NULL || mail_all[slot].bytes != 0 || mail_all[slot].behind) {
            sim_broken(NULL, "messages are left for slot %u", (unsigned)slot);
        }
    }
    return mail_spares;
}
