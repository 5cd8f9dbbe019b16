/* loop.c: mail for the sessions of a loop.
 *
 * Called at join points by the loop and the engine. State: messages that came for a session while
 * its action waited. Such a message is held until the action has ended; each session has a bound,
 * so that one client that lets its action wait takes neither memory nor mail from the others: what
 * is beyond the bound is dropped. Must not know what a message does. */
#include "mail.h"
#include "../../loop/loop.h"
#include "../../platform/platform.h"
#include "../../workers/dispatchers.h"
#include "../../workers/mailbox.h"

#include <stdlib.h>
#include <string.h>

struct mail_held {
    struct mail_held *next;
    uint32_t kind, n;
    uint8_t bytes[];
};

struct mail_entry { /* of a slot */
    struct mail_held *first, *last;
    uint32_t bytes;
    uint32_t next; /* in the list of those that can be given theirs: slot + 1; 0: the last */
    bool listed;
};

static _Atomic(void *) mail_slab;      /* scope: process; set once. Entries, one for each slot */
static uint32_t mail_first, mail_last; /* scope: worker. The list: slot + 1; 0: it is empty */
static uint32_t mail_entries;          /* scope: worker. Sessions for which something is held */
static bool mail_begun;                /* scope: worker. It has its mailbox */
static struct nest__mail mail_taken;   /* scope: worker. The message that is handed over */

struct nest__need nest__mail_need(void) {
    return (struct nest__need){"mail that waits for its action", NULL, NEST__MAIL_HELD, 0};
}

int nest__mail_start(void) {
    int error = nest__mailbox_prepare(nest__dispatchers_most());
    if (error != 0) {
        nest__say("cannot start: no mailboxes: %s", strerror(-error));
    }
    return error;
}

int nest__mail_mailbox(void) {
    if (!mail_begun) {
        mail_begun = true;
        nest__mailbox_begin(nest__serial % nest__dispatchers_most());
    }
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

/* -- what is held */

static void mail_list(struct mail_entry *all, uint32_t slot) {
    if (all[slot].listed) {
        return;
    }
    all[slot].listed = true;
    all[slot].next = 0;
    if (mail_last == 0) {
        mail_first = slot + 1;
    } else {
        all[mail_last - 1].next = slot + 1;
    }
    mail_last = slot + 1;
    nest__loop.mailed = true;
}

/* Holds the message that was taken; without memory, or beyond the bound, it is dropped. */
static void mail_hold(uint32_t slot) {
    struct mail_entry *all = nest__slab(&mail_slab, sizeof *all);
    uint32_t n = (uint32_t)sizeof(struct mail_held) + mail_taken.n;
    struct mail_held *held;
    if (all == NULL || n > NEST__MAIL_HELD - all[slot].bytes || (held = malloc(n)) == NULL) {
        return;
    }
    held->next = NULL;
    held->kind = mail_taken.kind;
    held->n = mail_taken.n;
    memcpy(held->bytes, mail_taken.bytes, mail_taken.n);
    if (all[slot].first == NULL) {
        all[slot].first = held;
        mail_entries++;
    } else {
        all[slot].last->next = held;
    }
    all[slot].last = held;
    all[slot].bytes += n;
}

static void mail_release(struct mail_entry *entry) {
    struct mail_held *held = entry->first;
    entry->first = held->next;
    entry->bytes -= (uint32_t)sizeof *held + held->n;
    mail_entries -= entry->first == NULL;
    free(held);
}

void nest__mail_acted(nest_session *s, uint64_t taken) {
    (void)taken;
    if (mail_entries > 0) {
        struct mail_entry *all = nest__slab(&mail_slab, sizeof *all);
        if (all[s->self.slot].first != NULL) {
            mail_list(all, s->self.slot);
        }
    }
}

void nest__mail_end(nest_session *s) {
    if (mail_entries > 0) {
        struct mail_entry *all = nest__slab(&mail_slab, sizeof *all);
        while (all[s->self.slot].first != NULL) {
            mail_release(&all[s->self.slot]);
        }
    }
}

/* The next held message of a session whose action has ended. NULL: there is none. */
static nest_session *mail_give(void) {
    struct mail_entry *all = mail_first == 0 ? NULL : nest__slab(&mail_slab, sizeof *all);
    while (mail_first != 0) {
        uint32_t slot = mail_first - 1;
        struct mail_entry *entry = &all[slot];
        nest_session *s = nest__slot_at(slot);
        if (entry->first != NULL && s->phase == NEST__READING) {
            nest__on_mail(s, entry->first->kind, entry->first->bytes, entry->first->n);
            mail_release(entry);
            return s;
        }
        entry->listed = false; /* it ended, or acts again, which lists it anew */
        mail_first = entry->next;
        mail_last = mail_first == 0 ? 0 : mail_last;
    }
    return NULL;
}

/* -- what comes */

/* What came for a session before is handed over first. */
static bool mail_waits(const nest_session *s) {
    struct mail_entry *all = mail_entries == 0 ? NULL : nest__slab(&mail_slab, sizeof *all);
    return s->phase == NEST__ACTING || (all != NULL && all[s->self.slot].first != NULL);
}

bool nest__mail_letter(nest_session **s) {
    *s = mail_give();
    if (*s != NULL) {
        return true;
    }
    if (!nest__mailbox_take(&mail_taken)) {
        return !nest__mailbox_sleep();
    }
    nest_session *to = nest__slot_at(mail_taken.to.slot);
    if (mail_waits(to)) {
        mail_hold(mail_taken.to.slot);
    } else {
        nest__on_mail(to, mail_taken.kind, mail_taken.bytes, mail_taken.n);
        *s = to;
    }
    return true;
}
