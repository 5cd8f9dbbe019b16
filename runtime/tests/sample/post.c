/* post.c: clients of the sample send each other mail.
 *
 *     ECHO me               says "name SLOT GENERATION" of this session
 *     ECHO to SLOT GEN N    sends this session the messages 0 to N - 1 until its mailbox is full,
 *                           and says how many were sent: "sent N"
 *
 * A session that gets message number i says "mail KIND i". A message of kind 0 comes from a script:
 * the session says it, "mail 0 TEXT". */
#include "../../engine/engine.h"
#include "../../workers/mailbox.h"
#include "post.h"

#include <stdio.h>
#include <string.h>

enum { POST_KIND = 7 };

/* For a session that may have no action. */
static void post_say(nest_session *s, const char *text) {
    struct nest__work *work = nest__borrow(s);
    size_t n = strlen(text);
    if (work != NULL && nest__queue_room(&work->out.queue, n) == 0) {
        memcpy(nest__queue_end(&work->out.queue), text, n);
        nest__queue_added(&work->out.queue, n);
    }
}

void nest__post_take(nest_session *s, const struct nest__rule *rule, const uint8_t *bytes,
                     uint32_t n) {
    char text[64];
    unsigned slot, gen, count, sent = 0;
    (void)rule;
    (void)snprintf(text, sizeof text, "%.*s", (int)n, (const char *)bytes);
    if (strncmp(text, "ECHO me", 7) == 0) {
        (void)snprintf(text, sizeof text, "name %u %u\r\n", (unsigned)s->self.slot,
                       (unsigned)s->self.gen);
        post_say(s, text);
    } else if (sscanf(text, "ECHO to %u %u %u", &slot, &gen, &count) == 3) {
        nest__ref to = {.slot = slot, .gen = gen};
        while (sent < count &&
               nest__mail_send(nest__serial, to, POST_KIND, &sent, sizeof sent) == 0) {
            sent++;
        }
        (void)snprintf(text, sizeof text, "sent %u\r\n", sent);
        post_say(s, text);
    }
}

void nest__post_mail(nest_session *s, uint32_t kind, const uint8_t *bytes, uint32_t n) {
    unsigned number = 0;
    char text[64];
    memcpy(&number, bytes, n < sizeof number ? n : sizeof number);
    if (kind == POST_KIND) {
        (void)snprintf(text, sizeof text, "mail %u %u\r\n", (unsigned)kind, number);
    } else {
        (void)snprintf(text, sizeof text, "mail 0 %.*s\r\n", (int)n, (const char *)bytes);
    }
    post_say(s, text);
}
