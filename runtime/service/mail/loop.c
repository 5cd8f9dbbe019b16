/* loop.c: mail for the sessions of a loop.
 *
 * Called at join points by the loop and the engine, and by services that send. State: messages that
 * wait for a session: its action runs, or its output has not left. The bytes of a message exist
 * once in a loop, however many sessions wait for it. Each session has a bound, so that one client
 * that does not read takes neither memory nor mail from the others. Must not know what a message
 * does. */
#include "mail.h"
#include "../../loop/loop.h"
#include "../../platform/platform.h"
#include "../../workers/dispatchers.h"
#include "../../workers/mailbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAIL_SPARE = 1024,    /* records that are kept for later messages */
    MAIL_GATHERED = 16384 /* more messages than the mailbox holds of one sender */
};

struct nest__mail_body {
    uint32_t refs, n;
    uint8_t bytes[];
};

struct mail_held {
    struct mail_held *next;
    struct nest__mail_body *body;
    uint32_t kind;
};

struct mail_entry { /* of a slot */
    struct mail_held *first, *last;
    uint64_t bytes;
    uint32_t next; /* in the list of those that can be given theirs: slot + 1; 0: the last */
    bool listed;
    bool behind; /* more came than may wait */
};

static struct mail_entry *mail_all;    /* scope: process; set once. One for each slot */
static uint32_t mail_first, mail_last; /* scope: worker. The list: slot + 1; 0: it is empty */
static struct mail_held *mail_spare;   /* scope: worker. Records that are not used */
static uint32_t mail_spares;           /* scope: worker. How many */
static struct nest__mail mail_taken;   /* scope: worker. The message that was taken last */

struct nest__need nest__mail_need(void) {
    uint64_t most = nest__config.output_buffer;
    return (struct nest__need){"messages from other clients", "outputBuffer", most, most};
}

int nest__mail_start(void) {
    _Atomic(void *) slab = NULL;
    int error = nest__mailbox_prepare(nest__dispatchers_most());
    mail_all = nest__slab(&slab, sizeof *mail_all);
    error = error == 0 && mail_all == NULL ? -ENOMEM : error;
    if (error != 0) {
        nest__say("cannot start: no mailboxes: %s", strerror(-error));
    }
    return error;
}

int nest__mail_mailbox(void) {
    return nest__mailbox_fd();
}

void nest__mail_open(nest_session *s) {
    (void)s;
}

int nest__mail_post(nest__ref to, const uint8_t *bytes, uint32_t n) {
    return nest__mail_send(nest__serial, to, 0, bytes, n);
}

bool nest__mail_alive(nest__ref ref) {
    if (ref.slot >= nest__slots_ever()) {
        return false;
    }
    const nest_session *s = nest__slot_at(ref.slot);
    return s->self.gen == ref.gen && (s->phase == NEST__READING || s->phase == NEST__ACTING);
}

/* -- bodies and records */

struct nest__mail_body *nest__mail_body(const void *bytes, uint32_t n) {
    struct nest__mail_body *body = malloc(sizeof *body + n);
    if (body != NULL) {
        *body = (struct nest__mail_body){.refs = 1, .n = n};
        memcpy(body->bytes, bytes, n);
    }
    return body;
}

void nest__mail_body_leave(struct nest__mail_body *body) {
    if (body != NULL && --body->refs == 0) {
        free(body);
    }
}

static struct mail_held *mail_record(void) {
    struct mail_held *held = mail_spare;
    if (held == NULL) {
        return malloc(sizeof *held);
    }
    mail_spare = held->next;
    mail_spares--;
    return held;
}

static void mail_release(struct mail_entry *entry) {
    struct mail_held *held = entry->first;
    entry->first = held->next;
    entry->bytes -= sizeof *held + held->body->n;
    nest__mail_body_leave(held->body);
    if (mail_spares < MAIL_SPARE) {
        held->next = mail_spare;
        mail_spare = held;
        mail_spares++;
    } else {
        free(held);
    }
}

/* -- what waits */

static void mail_list(uint32_t slot) {
    if (mail_all[slot].listed) {
        return;
    }
    mail_all[slot].listed = true;
    mail_all[slot].next = 0;
    if (mail_last == 0) {
        mail_first = slot + 1;
    } else {
        mail_all[mail_last - 1].next = slot + 1;
    }
    mail_last = slot + 1;
    nest__loop.mailed = true;
}

static void mail_clear(struct mail_entry *entry) {
    while (entry->first != NULL) {
        mail_release(entry);
    }
}

/* Makes space for `n` bytes, or for none. False: the message is not kept. */
static bool mail_space(struct mail_entry *entry, uint64_t n) {
    uint64_t most = nest__config.output_buffer;
    if (NEST__LOSSY) {
        while (entry->first != NULL && entry->bytes + n > most) {
            mail_release(entry);
        }
        return true;
    }
    if (entry->bytes + n > most && entry->first != NULL) {
        entry->behind = true;
        mail_clear(entry);
    }
    return !entry->behind;
}

static void mail_append(struct mail_entry *entry, struct mail_held *held) {
    if (entry->first == NULL) {
        entry->first = held;
    } else {
        entry->last->next = held;
    }
    entry->last = held;
    entry->bytes += sizeof *held + held->body->n;
}

/* Without memory the message is lost, as if too many waited. */
void nest__mail_hold(nest_session *s, uint32_t kind, struct nest__mail_body *body) {
    struct mail_entry *entry = &mail_all[s->self.slot];
    struct mail_held *held = NULL;
    if (body == NULL ||
        (mail_space(entry, sizeof *held + body->n) && (held = mail_record()) == NULL)) {
        entry->behind = !NEST__LOSSY;
    }
    if (held != NULL) {
        *held = (struct mail_held){.body = body, .kind = kind};
        body->refs++;
        mail_append(entry, held);
    }
    mail_list(s->self.slot);
}

/* What waits can be handed over now. */
static bool mail_ready(const nest_session *s) {
    return s->phase == NEST__READING && nest__out_queued(s, &s->c0) == 0;
}

static void mail_look(const nest_session *s) {
    const struct mail_entry *entry = &mail_all[s->self.slot];
    if (entry->first != NULL || entry->behind) {
        mail_list(s->self.slot);
    }
}

void nest__mail_acted(nest_session *s, uint64_t taken) {
    (void)taken;
    mail_look(s);
}

void nest__mail_drained(nest_session *s) {
    mail_look(s);
}

void nest__mail_end(nest_session *s) {
    mail_clear(&mail_all[s->self.slot]);
    mail_all[s->self.slot].behind = false;
}

/* The next session that is given what waits for it, or ends. NULL: there is none. */
static nest_session *mail_give(void) {
    while (mail_first != 0) {
        uint32_t slot = mail_first - 1;
        struct mail_entry *entry = &mail_all[slot];
        nest_session *s = nest__slot_at(slot);
        entry->listed = false; /* else it is listed anew when its action ends or its output left */
        mail_first = entry->next;
        mail_last = mail_first == 0 ? 0 : mail_last;
        if (entry->behind && s->phase == NEST__READING) {
            nest__mail_behind(s);
            return s;
        }
        if (entry->first != NULL && mail_ready(s)) {
            do {
                const struct nest__mail_body *body = entry->first->body;
                nest__on_mail(s, entry->first->kind, body->bytes, body->n);
                mail_release(entry);
            } while (entry->first != NULL && nest__out_queued(s, &s->c0) + entry->first->body->n <=
                                                 nest__config.output_buffer);
            return s;
        }
    }
    return NULL;
}

/* -- what comes */

static void mail_came(void) {
    if (mail_taken.to.slot == NEST__NO_NUMBER) {
        nest__on_spread(mail_taken.kind, mail_taken.bytes, mail_taken.n);
        return;
    }
    struct nest__mail_body *body = nest__mail_body(mail_taken.bytes, mail_taken.n);
    nest__mail_hold(nest__slot_at(mail_taken.to.slot), mail_taken.kind, body);
    nest__mail_body_leave(body);
}

void nest__mail_gather(void) {
    uint32_t most = (nest__dispatchers_most() + 1) * MAIL_GATHERED;
    while (most-- > 0 && nest__mailbox_take(&mail_taken)) {
        mail_came();
    }
    nest__loop.mailed = true; /* the mailbox is to be told again that this loop sleeps */
}

bool nest__mail_letter(nest_session **s) {
    *s = mail_give();
    if (*s != NULL) {
        return true;
    }
    if (!nest__mailbox_take(&mail_taken)) {
        return !nest__mailbox_sleep();
    }
    mail_came();
    return true;
}
