/* directives.c: what actions say about the match, states and the connection; output is output.c's.
 *
 * Called by actions and their helpers. State: the session's record, the running action. Must not
 * know io. */
#include "engine.h"

#include <errno.h>
#include <string.h>

/* -- the match */

static nest_bytes part_in_place(nest_session *s, unsigned n) {
    struct nest__action *action = nest__acting(s);
    nest_bytes part = {"", 0};
    if (action == NULL || action->rule < 0 || n > nest__rules[action->rule].parts) {
        return part;
    }
    if (n == 0) {
        part = (nest_bytes){action->message.p, action->message.n};
        return part;
    }
    return nest__part(action, &nest__worker()->scratch, n);
}

/* Where the private copy of a part is noted; NULL outside a pattern rule and beyond its parts. */
static char **part_copy(nest_session *s, unsigned n) {
    struct nest__action *action = nest__acting(s);
    if (action == NULL || action->rule < 0 || n > nest__rules[action->rule].parts) {
        return NULL;
    }
    if (!action->copied) {
        memset(action->copies, 0,
               (nest__rules[action->rule].parts + (size_t)1) * sizeof action->copies[0]);
        action->copied = true;
    }
    return &action->copies[n];
}

char *nest_part(nest_session *s, unsigned n) {
    static _Thread_local char nothing[1];
    char **copy = part_copy(s, n);
    if (copy != NULL && *copy != NULL) {
        return *copy;
    }
    nest_bytes part = part_in_place(s, n);
    char *text = nest__arena_take(s, part.n + 1);
    if (text == NULL) { /* never NULL: actions do not ask. The connection ends with this action */
        struct nest__action *action = nest__acting(s);
        if (action != NULL) {
            action->lost = true;
        }
        nothing[0] = '\0';
        errno = ENOMEM;
        return nothing;
    }
    memcpy(text, part.p, part.n);
    text[part.n] = '\0';
    if (copy != NULL) {
        *copy = text;
    }
    return text;
}

size_t nest_length(nest_session *s, unsigned n) {
    return part_in_place(s, n).n;
}

const char *nest_bytes_at(nest_session *s, unsigned n) {
    return part_in_place(s, n).p;
}

nest_bytes nest_part_bytes(nest_session *s, unsigned n) {
    char **copy = part_copy(s, n);
    nest_bytes part = part_in_place(s, n);
    if (copy != NULL && *copy != NULL) {
        part.p = *copy;
    }
    return part;
}

uint64_t nest_be(nest_session *s, unsigned n) {
    nest_bytes part = part_in_place(s, n);
    const uint8_t *p = part.p;
    uint64_t value = 0;
    for (size_t i = 0; i < part.n && i < sizeof value; i++) {
        value = value << 8 | p[i];
    }
    return value;
}

uint64_t nest_le(nest_session *s, unsigned n) {
    nest_bytes part = part_in_place(s, n);
    const uint8_t *p = part.p;
    uint64_t value = 0;
    for (size_t i = 0; i < part.n && i < sizeof value; i++) {
        value |= (uint64_t)p[i] << 8 * i;
    }
    return value;
}

/* -- states. In END they are what they were: nothing changes them. */

static bool states_fixed(const nest_session *s, unsigned state) {
    return s->reason != NEST_OPEN || state >= nest__state_count;
}

void nest_seen(nest_session *s, unsigned state) {
    if (!states_fixed(s, state)) {
        s->states |= (uint64_t)1 << state;
        s->last = (uint8_t)state;
    }
}

void nest_clear(nest_session *s, unsigned state) {
    if (!states_fixed(s, state)) {
        s->states &= ~((uint64_t)1 << state);
    }
}

void nest_clear_all(nest_session *s) {
    if (s->reason == NEST_OPEN) {
        s->states &= (uint64_t)1 << NEST__START_STATE;
    }
}

bool nest_isset(nest_session *s, unsigned state) {
    return state < nest__state_count && (s->states >> state & 1) != 0;
}

unsigned nest_lastseen(nest_session *s) {
    return s->last;
}

/* -- the connection */

void nest_close(nest_session *s) {
    nest_close_flags(s, 0);
}

void nest_close_flags(nest_session *s, unsigned flags) {
    if (s->reason == NEST_OPEN) {
        s->flags |= (flags & NEST_MORE) != 0 ? NEST__CLOSING | NEST__UNREAD : NEST__CLOSING;
    }
}

enum nest_reason nest_reason(nest_session *s) {
    return (enum nest_reason)s->reason;
}

const char *nest_reason_text(nest_session *s) {
    static const char *const texts[NEST_REASONS] = {
        [NEST_OPEN] = "the connection is open",
        [NEST_CLOSED] = "closed by the server",
        [NEST_EOF] = "closed by the client",
        [NEST_GONE] = "the client is gone",
        [NEST_INPUT] = "no rule matches the input",
        [NEST_STUCK] = "no rule is active",
        [NEST_OVERFLOW] = "a message exceeds inputBuffer",
        [NEST_TIMEOUT] = "timed out",
        [NEST_SHUTDOWN] = "the server stops",
        [NEST_OVERLOAD] = "the server is overloaded",
        [NEST_LIMIT] = "matching a message takes too many steps",
        [NEST_RETURNED] = "given back to the filter",
        [NEST_DECODE] = "the input cannot be decoded",
        [NEST_ENCODE] = "the output cannot be encoded",
    };
    return s->reason < NEST_REASONS ? texts[s->reason] : "unknown";
}

uint64_t nest_id(nest_session *s) {
    uint64_t here = (uint64_t)s->self.gen * nest__config.max_clients + s->self.slot + 1;
    return (uint64_t)nest__serial << NEST__ID_SERIAL |
           (here & ((UINT64_C(1) << NEST__ID_SERIAL) - 1));
}

/* -- the server */

const char *nest_server_name(void) {
    return nest__config.server_name;
}

const char *nest_model(void) {
    return nest__model_name;
}

unsigned nest_port(void) {
    for (unsigned i = 0; i < nest__listener_count; i++) {
        const struct nest__listener *listener = &nest__listeners[i];
        if (listener->kind != NEST__TCP4 && listener->kind != NEST__TCP6) {
            continue;
        }
        unsigned port = 0;
        for (const char *p = listener->name; *p != '\0';
             p++) { /* the digits after the last colon */
            port = *p >= '0' && *p <= '9' ? port * 10 + (unsigned)(*p - '0') : 0;
        }
        return port;
    }
    return 0;
}
