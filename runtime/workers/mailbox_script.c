/* mailbox_script.c: mail in a script: one worker, whose messages come from commands.
 *
 * Called by what sends and by service/mail. State: the messages, first in, first out. Must not know
 * sessions, nor what is sent. */
#include "mailbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SCRIPT_MAIL_MOST = 1024 /* messages that wait */ };

struct script_mail {
    struct script_mail *next;
    nest__ref to;
    uint32_t kind, n;
    uint8_t bytes[];
};

static struct script_mail *script_mail_first, *script_mail_last;
static unsigned script_mail_count;

int nest__mailbox_prepare(uint32_t workers) {
    (void)workers;
    return 0;
}

void nest__mailbox_begin(uint32_t worker) {
    (void)worker;
}

bool nest__mailbox_own(uint16_t serial) {
    return serial == nest__serial;
}

int nest__mailbox_fd(void) {
    return 1; /* there is one; nobody polls it */
}

bool nest__mailbox_sleep(void) {
    return script_mail_first == NULL;
}

int nest__mail_send(uint16_t serial, nest__ref to, uint32_t kind, const void *bytes, uint32_t n) {
    struct script_mail *mail;
    if (n > NEST__MAIL_MOST) {
        return -EMSGSIZE;
    }
    if (serial != nest__serial) {
        return -ESRCH;
    }
    /* (malloc): not one that a script lets fail */
    if (script_mail_count == SCRIPT_MAIL_MOST || (mail = (malloc)(sizeof *mail + n)) == NULL) {
        return -EAGAIN;
    }
    *mail = (struct script_mail){.to = to, .kind = kind, .n = n};
    memcpy(mail->bytes, bytes, n);
    if (script_mail_first == NULL) {
        script_mail_first = mail;
    } else {
        script_mail_last->next = mail;
    }
    script_mail_last = mail;
    script_mail_count++;
    return 0;
}

bool nest__mailbox_take(struct nest__mail *to) {
    struct script_mail *mail;
    bool alive = false;
    while (!alive && (mail = script_mail_first) != NULL) {
        script_mail_first = mail->next;
        script_mail_count--;
        alive = mail->to.slot == NEST__NO_NUMBER || nest__mail_alive(mail->to);
        if (alive) {
            to->to = mail->to;
            to->kind = mail->kind;
            to->n = mail->n;
            memcpy(to->bytes, mail->bytes, mail->n);
        }
        (free)(mail);
    }
    return alive;
}
