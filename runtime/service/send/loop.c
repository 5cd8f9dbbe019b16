/* loop.c: passes messages to sessions of the calling loop or of another one.
 *
 * Called by services that send. No state. Must not know what a message is about. */
#include "../../loop/loop.h"
#include "../../workers/mailbox.h"
#include "../mail/mail.h"
#include "send.h"

#include <errno.h>

int nest__send_pass(uint16_t serial, nest__ref to, const struct nest__send_text *text) {
    if (!nest__mailbox_own(serial)) {
        return nest__mail_send(serial, to, NEST__SEND_TEXT, text->p, text->n);
    }
    if (!nest__mail_alive(to)) {
        return -ESRCH;
    }
    struct nest__mail_body *body = nest__mail_body(text->p, text->n);
    nest__mail_hold(nest__slot_at(to.slot), NEST__SEND_TEXT, body);
    nest__mail_body_leave(body);
    return 0;
}
