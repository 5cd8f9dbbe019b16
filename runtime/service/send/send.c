/* send.c: $send: what actions call, and what a message does when it has come.
 *
 * Called by actions and at join points. State: the message that is being composed, of the thread.
 * Must not know how a message gets to another worker. */
#include "send.h"
#include "../../engine/engine.h"
#include "../alive/alive.h"
#include "../mail/mail.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* scope: worker. A byte more than a message: a text that is too long is recognised. */
static _Thread_local uint8_t send_text[NEST__SEND_MOST + 1];

/* The composed message has n bytes. */
static int send_composed(struct nest__send_text *text, uint64_t n) {
    if (n > NEST__SEND_MOST || n > nest__config.output_buffer) {
        errno = EMSGSIZE;
        return -1;
    }
    *text = (struct nest__send_text){send_text, (uint32_t)n};
    return 0;
}

int nest__send_list(struct nest__send_text *text, size_t count, const nest_bytes items[]) {
    uint64_t n = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = items[i].p == NULL ? 0 : items[i].n;
        if (length > NEST__SEND_MOST - n) {
            return send_composed(text, UINT64_MAX);
        }
        if (length > 0) {
            memcpy(send_text + n, items[i].p, length);
            n += length;
        }
    }
    return send_composed(text, n);
}

int nest__send_format(struct nest__send_text *text, const char *format, va_list arguments) {
    int n = vsnprintf((char *)send_text, sizeof send_text, format, arguments);
    return n < 0 ? -1 : send_composed(text, (uint64_t)n);
}

void nest__send_deliver(nest_session *s, const uint8_t *bytes, uint32_t n) {
    struct nest__work *work = nest__borrow(s);
    if (work != NULL && nest__queue_room(&work->out.queue, n) == 0) {
        memcpy(nest__queue_end(&work->out.queue), bytes, n);
        nest__on_reply(s, nest__queue_end(&work->out.queue), n);
        nest__on_replied(s, 1, n);
        nest__queue_added(&work->out.queue, n);
    } else if (!NEST__LOSSY) { /* no memory: the message is lost */
        nest__mail_behind(s);
    }
}

void nest__send_mail(nest_session *s, uint32_t kind, const uint8_t *bytes, uint32_t n) {
    if (kind == NEST__SEND_TEXT || kind == NEST__SEND_SCRIPT) {
        nest__send_deliver(s, bytes, n);
    }
}

/* -- directives. Sessions and the text that is composed belong to the thread of the loop. */

static int send_to(uint64_t id, const struct nest__send_text *text) {
    uint16_t serial;
    nest__ref to;
    int error = 0;
    if (!nest__alive_find(id, &serial, &to)) {
        error = -ESRCH;
    } else if (text->n > 0) {
        error = nest__send_pass(serial, to, text);
    }
    if (error != 0) {
        errno = -error;
        return -1;
    }
    return 0;
}

__attribute__((noinline)) static int send_items(uint64_t id, size_t count,
                                                const nest_bytes items[]) {
    struct nest__send_text text;
    return nest__send_list(&text, count, items) == 0 ? send_to(id, &text) : -1;
}

int nest_send_list(nest_session *s, uint64_t id, size_t count, const nest_bytes items[]) {
    struct nest__trip *trip = nest__at_home(s);
    int result = send_items(id, count, items);
    nest__from_home(trip);
    return result;
}

int nest_send(nest_session *s, uint64_t id, const char *text) {
    nest_bytes item = nest_text(text);
    return nest_send_list(s, id, 1, &item);
}

__attribute__((noinline, format(printf, 2, 0))) static int
send_formatted(uint64_t id, const char *format, va_list arguments) {
    struct nest__send_text text;
    return nest__send_format(&text, format, arguments) == 0 ? send_to(id, &text) : -1;
}

int nest_vsendf(nest_session *s, uint64_t id, const char *format, va_list arguments) {
    struct nest__trip *trip = nest__at_home(s);
    int result = send_formatted(id, format, arguments);
    nest__from_home(trip);
    return result;
}

int nest_sendf(nest_session *s, uint64_t id, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int result = nest_vsendf(s, id, format, arguments);
    va_end(arguments);
    return result;
}
