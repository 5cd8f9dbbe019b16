/* blocking.c: passes messages from one worker that blocks to another.
 *
 * Called by services that send. No state. Must not know what a message is about. */
#include "../mail/mail.h"
#include "send.h"

int nest__send_pass(uint16_t serial, nest__ref to, const struct nest__send_text *text) {
    return nest__mail_press(serial, to, NEST__SEND_TEXT, text->p, text->n);
}
