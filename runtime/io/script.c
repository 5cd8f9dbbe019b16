/* script.c: conversations come from stdin, answers go to stdout; no socket, no clock, no chance.
 *
 * Called by crew/loops.c and, for output, by the engine; also stands for the listener. State: the
 * conversations of this process. Must not know the language. A step is processed completely before
 * the next command is read; an action that waits for its client to take output waits on its stack,
 * and the next commands are read meanwhile.
 *
 *     open C | in C "bytes" | eof C | reset C | room C N | room C - | drain
 *     C out "bytes" | C closed
 *
 * C counts from 1 in the order of open, and is nest_id. The client takes all output unless `room`,
 * also just before its open, says how many bytes more. At the end of stdin every conversation gets
 * eof, and those whose client does not take the rest are reset. What is lent to the engine is
 * scribbled over as soon as the lease ends, so that a use of it shows. */
#include "../crew/loops.h"
#include "../platform/platform.h"
#include "command.h"

#include <errno.h>

enum { SCRIPT_CONVERSATIONS = 65536 };
enum script_stage { SCRIPT_COMMANDS, SCRIPT_EOFS, SCRIPT_RESETS, SCRIPT_DONE };

static struct {    /* by slot: C - 1 */
    uint8_t *sent; /* by the client, and not yet received; with its room */
    size_t n, cap;
    uint64_t room;
    bool eof;
} script_clients[SCRIPT_CONVERSATIONS];
static uint8_t script_buffer[NEST__VISIT_IN];
static uint32_t script_lent;                               /* bytes of it in use */
static uint32_t script_drain = NEST__NO_SLOT, script_next; /* next slot to be told */
static enum script_stage script_stage;
static int script_status;

struct nest__listener nest__listeners[NEST__LISTEN_MAX];
unsigned nest__listener_count;

int nest__listen_open(void) {
    return 0;
}

void nest__listen_close(void) {
}

void nest__peer_text(const struct nest__chan *chan, char *to, size_t size) {
    struct nest__line line = {to, 0, size - 1};
    nest__line_add(&line, "script:");
    nest__line_number(&line, (uint64_t)chan->fd);
    to[line.n] = '\0';
}

/* -- output */

static void script_print(uint32_t who, const char *what, const uint8_t *bytes, size_t n) {
    char *text = malloc(4 * n + 64);
    if (text == NULL) {
        nest__say("no memory to print what conversation %u got", (unsigned)who);
        script_status = 1;
        return;
    }
    struct nest__line line = {text, 0, 63};
    nest__line_number(&line, who);
    nest__line_char(&line, ' ');
    nest__line_add(&line, what);
    char *end = text + line.n;
    if (bytes != NULL) {
        *end++ = ' ';
        end = nest__command_quote(end, bytes, n);
    }
    *end++ = '\n';
    nest__write(1, text, (size_t)(end - text));
    free(text);
}

int nest__push(nest_session *s, struct nest__chan *chan) {
    struct nest__out out[1];
    uint64_t *room = &script_clients[s->self.slot].room;
    while (*room > 0 && nest__out_next(s, chan, out, 1) > 0) {
        uint64_t n = out[0].n < *room ? out[0].n : *room;
        script_print(s->self.slot + 1, "out", out[0].p, (size_t)n);
        *room -= *room == UINT64_MAX ? 0 : n;
        nest__out_sent(s, chan, n);
    }
    return 0;
}

bool nest__io_await(nest_session *s, struct nest__waiter *waiter) {
    return nest__out_queued(s, &s->c0) > waiter->wait->mark;
}

uint32_t nest__now(void) {
    return 1;
}

bool nest__input_ready(const struct nest__chan *chan) {
    return script_clients[chan->fd - 1].n > 0;
}

bool nest__stopping(void) {
    return script_drain != NEST__NO_SLOT;
}

/* -- conversations */

static void script_closed(nest_session *s) {
    uint32_t slot = s->self.slot;
    script_print(slot + 1, "closed", NULL, 0);
    nest__released(s); /* its slot is not used again: numbers stay unique */
    free(script_clients[slot].sent);
    script_clients[slot].sent = NULL;
    script_clients[slot].n = 0;
}

/* One receive: what the client has sent, as far as the buffer holds it. */
static unsigned script_receive(nest_session *s) {
    struct nest__window window = {NULL, 0, false};
    uint32_t room = nest__in_space(s, &s->c0, &window.p);
    size_t sent = script_clients[s->self.slot].n;
    uint8_t *bytes = script_clients[s->self.slot].sent;
    if (room == 0) {
        window = (struct nest__window){script_buffer, 0, true};
        room = sizeof script_buffer;
    }
    window.n = sent < room ? (uint32_t)sent : room;
    script_lent = window.lent ? window.n : 0;
    memcpy(window.p, bytes, window.n);
    memmove(bytes, bytes + window.n, sent - window.n);
    script_clients[s->self.slot].n -= window.n;
    nest__chan_received(&s->c0, window.n == room);
    unsigned want = nest__pump(s, &s->c0, &window);
    if (nest__own(s, &window) < 0) {
        want = nest__event(s, NEST__EVENT_RESET);
    }
    memset(script_buffer, 0xa5, script_lent);
    script_lent = 0;
    return want;
}

/* Goes on with a conversation until it must wait for its client. */
static void script_serve(nest_session *s, unsigned want) {
    struct nest__window none = {NULL, 0, false};
    uint32_t slot = s->self.slot;
    for (;;) {
        if ((want & (NEST__WANT_END | NEST__WANT_AGAIN)) != 0) {
            nest__push(s, &s->c0);
        }
        bool stalled = script_clients[slot].room == 0 && nest__out_queued(s, &s->c0) > 0;
        if ((want & NEST__WANT_END) != 0) {
            if (!stalled) {
                script_closed(s);
            }
            return;
        }
        if (stalled) {
            return;
        }
        if ((want & NEST__WANT_AGAIN) != 0) {
            want = nest__pump(s, &s->c0, &none);
        } else if (script_clients[slot].n > 0) {
            want = script_receive(s);
        } else if (script_clients[slot].eof && (s->c0.state & NEST__CHAN_EOF) == 0) {
            want = nest__event(s, NEST__EVENT_EOF);
        } else {
            nest__push(s, &s->c0);
            return;
        }
    }
}

static void script_go_on(nest_session *s) {
    struct nest__window none = {NULL, 0, false};
    if (s->phase == NEST__READING || s->phase == NEST__ENDED) {
        unsigned want = nest__pump(s, &s->c0, &none);
        script_serve(s, want);
    }
}

static nest_session *script_waited(nest_session *s, int result) {
    ((struct nest__waiter *)s->waiter)->result = result;
    return s;
}

static nest_session *script_reset(nest_session *s) {
    script_clients[s->self.slot].n = 0;
    if ((s->flags & NEST__WAITING) != 0) {
        return script_waited(s, -ECONNRESET);
    }
    if (s->phase != NEST__FREE) {
        unsigned want = nest__event(s, NEST__EVENT_RESET);
        script_serve(s, want);
    }
    return NULL;
}

static nest_session *script_room(nest_session *s, uint64_t room) {
    script_clients[s->self.slot].room = room;
    if ((s->flags & NEST__WAITING) == 0) {
        script_go_on(s);
        return NULL;
    }
    const struct nest__waiter *waiter = s->waiter;
    nest__push(s, &s->c0);
    return nest__out_queued(s, &s->c0) <= waiter->wait->mark ? script_waited(s, 0) : NULL;
}

static int script_send(uint32_t slot, const uint8_t *bytes, size_t n) {
    size_t need = script_clients[slot].n + n;
    if (need > script_clients[slot].cap || script_clients[slot].sent == NULL) {
        uint8_t *sent = realloc(script_clients[slot].sent, need * 2 + 64);
        if (sent == NULL) {
            return -ENOMEM;
        }
        script_clients[slot].sent = sent;
        script_clients[slot].cap = need * 2 + 64;
    }
    memcpy(script_clients[slot].sent + script_clients[slot].n, bytes, n);
    script_clients[slot].n = need;
    return 0;
}

/* -- commands */

static nest_session *script_refuse(const char *why) {
    nest__say("script line %u: %s", nest__command_number, why);
    script_status = 2;
    script_stage = SCRIPT_RESETS;
    script_next = 0;
    return NULL;
}

static nest_session *script_open(uint32_t who) {
    struct nest__arrival arrival = {(int)who, NEST__SCRIPT, 0};
    if (script_drain != NEST__NO_SLOT) {
        return script_refuse("the server is stopping: it takes no more conversations");
    }
    if (who != nest__slots_ever() + 1) {
        return script_refuse("conversations are numbered 1, 2, 3, ... in the order of open");
    }
    nest_session *s = nest__slot_take();
    if (s == NULL) {
        return script_refuse("a script has at most 65536 conversations");
    }
    unsigned want = nest__open(s, &arrival);
    script_serve(s, want);
    return NULL;
}

static nest_session *script_command(void) {
    struct nest__command command = nest__command_read();
    if (command.verb == NEST__COMMAND_WRONG) {
        return script_refuse(command.why);
    }
    if (command.verb == NEST__COMMAND_END) {
        script_stage = SCRIPT_EOFS;
        script_next = 0;
        return NULL;
    }
    if (command.verb == NEST__COMMAND_OPEN) {
        return script_open(command.who);
    }
    if (command.verb == NEST__COMMAND_DRAIN) {
        script_drain = 0;
        return NULL;
    }
    if (command.verb == NEST__COMMAND_NOTHING) {
        return NULL;
    }
    if (command.verb == NEST__COMMAND_ROOM && command.who == nest__slots_ever() + 1 &&
        command.who <= SCRIPT_CONVERSATIONS) {
        script_clients[command.who - 1].room = command.room; /* for what START has to say */
        return NULL;
    }
    if (command.who > nest__slots_ever()) {
        return script_refuse("this conversation was not opened");
    }
    nest_session *s = nest__slot_at(command.who - 1);
    if (s->phase == NEST__FREE) {
        return NULL; /* the server has closed it: nobody hears its client */
    }
    switch (command.verb) {
    case NEST__COMMAND_IN:
        if (script_send(s->self.slot, command.bytes, command.n) < 0) {
            return script_refuse("no memory for these bytes");
        }
        script_go_on(s);
        return NULL;
    case NEST__COMMAND_EOF:
        script_clients[s->self.slot].eof = true;
        script_go_on(s);
        return NULL;
    case NEST__COMMAND_RESET:
        return script_reset(s);
    default:
        return script_room(s, command.room);
    }
}

static void script_stop(nest_session *s) {
    if (s->phase == NEST__READING || s->phase == NEST__ACTING) {
        unsigned want = nest__event(s, NEST__EVENT_DRAIN);
        if (s->phase == NEST__ENDED) {
            script_serve(s, want);
        }
    }
}

/* -- the loop's side */

nest_session *nest__io_step(void) {
    memset(script_buffer, 0xa5, script_lent); /* an action waits: the lease is over */
    script_lent = 0;
    if (script_drain < nest__slots_ever()) {
        script_stop(nest__slot_at(script_drain++));
        return NULL;
    }
    if (script_stage == SCRIPT_COMMANDS) {
        return script_command();
    }
    if (script_next == nest__slots_ever()) {
        script_stage = script_stage == SCRIPT_EOFS ? SCRIPT_RESETS : SCRIPT_DONE;
        script_next = 0;
        return NULL;
    }
    nest_session *s = nest__slot_at(script_next++);
    if (script_stage == SCRIPT_RESETS) {
        return script_reset(s);
    }
    if (s->phase != NEST__FREE) {
        script_clients[s->self.slot].eof = true;
        script_go_on(s);
    }
    return NULL;
}

bool nest__io_done(void) {
    return script_stage == SCRIPT_DONE;
}

int nest__io_status(void) {
    return script_status;
}

/* Features keep something for each of maxClients: a script's limit is another. */
uint32_t nest__io_prepare(void) {
    nest__config.max_clients = SCRIPT_CONVERSATIONS;
    return SCRIPT_CONVERSATIONS;
}

int nest__io_start(void) {
    for (unsigned i = 0; i < SCRIPT_CONVERSATIONS; i++) {
        script_clients[i].room = UINT64_MAX;
    }
    return 0;
}
