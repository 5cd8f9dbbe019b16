/* script.c: conversations come from commands, answers go to who gave them; no socket, no clock, no
 * chance.
 *
 * Called by workers/loops.c and script_steps.c, for output and waits by the engine; also stands for
 * the listener, which needs no arming. State: the conversations of this process. Must not know the
 * language. What is lent to the engine is scribbled over as soon as the lease ends, so that a use
 * of it shows. An action that waits does so on its stack; a session keeps nothing on a stack of
 * io's. */
#include "script.h"
#include "../platform/platform.h"
#include "../loop/accept.h"
#include "../loop/wheel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct script_client *script_clients[SCRIPT_CONVERSATIONS]; /* by number - 1 */
static uint8_t script_buffer[NEST__VISIT_IN];
static uint32_t script_lent; /* bytes of it in use */
uint32_t script_now = UINT32_MAX - 5000,
         script_live; /* the time's wrap is near: it must not matter */
int script_status;
bool script_over, script_again;

struct nest__listener nest__listeners[NEST__LISTEN_MAX]; /* the first has no name, nor port */
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

uint32_t nest__now(void) {
    return script_now;
}

uint32_t nest__clock(void) {
    return nest__now();
}

/* -- clients */

struct script_client *script_client(uint32_t who) {
    return script_clients[who - 1];
}

static struct script_client *script_client_of(const nest_session *s) {
    return script_clients[s->c0.fd - 1];
}

struct script_client *script_client_make(uint32_t who) {
    struct script_client *client = script_clients[who - 1];
    if (client == NULL && (client = (malloc)(sizeof *client)) != NULL) {
        *client = (struct script_client){.room = UINT64_MAX, .slot = NEST__NO_SLOT};
        script_clients[who - 1] = client;
    }
    return client;
}

int script_send(struct script_client *client, const uint8_t *bytes, size_t n) {
    size_t need = client->at + client->n + n;
    if (need > client->cap || client->sent == NULL) {
        uint8_t *sent = (realloc)(client->sent, need * 2 + 64);
        if (sent == NULL) {
            return -ENOMEM;
        }
        client->sent = sent;
        client->cap = need * 2 + 64;
    }
    memcpy(client->sent + client->at + client->n, bytes, n);
    client->n += n;
    return 0;
}

/* What the client has sent, as far as there is room. */
static uint32_t script_copy(struct script_client *client, uint8_t *to, uint32_t room) {
    uint32_t n = client->n < room ? (uint32_t)client->n : room;
    if (n > 0) {
        memcpy(to, client->sent + client->at, n);
        client->n -= n;
        client->at = client->n == 0 ? 0 : client->at + n;
    }
    return n;
}

uint32_t nest__lease(void) {
    return sizeof script_buffer;
}

bool nest__input_ready(const struct nest__chan *chan) {
    return script_clients[chan->fd - 1]->n > 0;
}

int nest__push(nest_session *s, struct nest__chan *chan) {
    struct nest__out out[1];
    struct script_client *client = script_client_of(s);
    if (client->reset) {
        return -ECONNRESET;
    }
    while (client->room > 0 && nest__out_next(s, chan, out, 1) > 0) {
        uint64_t n = out[0].n < client->room ? out[0].n : client->room;
        if (nest__command_out((uint32_t)chan->fd, out[0].p, (size_t)n) < 0) {
            nest__say("no memory to print what conversation %d got", (int)chan->fd);
            script_status = 1;
        }
        client->room -= client->room == UINT64_MAX ? 0 : n;
        nest__out_sent(s, chan, n);
    }
    return 0;
}

int64_t nest__send_file(nest_session *s, struct nest__chan *chan, int fd, uint64_t at, uint64_t n) {
    struct script_client *client = script_client_of(s);
    uint8_t piece[4096];
    uint64_t most = n < client->room ? n : client->room, sent = 0;
    if (client->reset) {
        return -ECONNRESET;
    }
    if (most == 0 || script_disk_is_cold()) {
        return -EAGAIN;
    }
    while (sent < most) {
        uint64_t want = most - sent < sizeof piece ? most - sent : sizeof piece;
        ssize_t got = pread(fd, piece, (size_t)want, (off_t)(at + sent));
        if (got <= 0) {
            return sent > 0 ? (int64_t)sent : got == 0 ? 0 : -errno;
        }
        if (nest__command_out((uint32_t)chan->fd, piece, (size_t)got) < 0) {
            nest__say("no memory to print what conversation %d got", (int)chan->fd);
            script_status = 1;
        }
        sent += (uint64_t)got;
        client->room -= client->room == UINT64_MAX ? 0 : (uint64_t)got;
    }
    return (int64_t)sent;
}

/* -- waits */

/* Whether what the action waits for is there; then result is set. */
static bool script_satisfied(nest_session *s, struct nest__waiter *waiter) {
    const struct nest__wait *wait = waiter->wait;
    struct script_client *client = script_client_of(s);
    waiter->result = 0;
    switch (wait->what) {
    case NEST__DRAINED:
        return nest__out_queued(s, wait->chan) <= wait->mark;
    case NEST__INPUT:
        if (nest__out_queued(s, wait->chan) > 0) {
            return false;
        }
        if (client->n > 0) {
            uint32_t n = script_copy(client, wait->into, wait->room);
            nest__chan_received(wait->chan, n == wait->room);
            waiter->result = (int)n;
        } else if (client->eof) {
            wait->chan->state |= NEST__CHAN_EOF;
        } else {
            return false;
        }
        return true;
    case NEST__TIME:
    case NEST__WORK:
        break;
    }
    return false;
}

bool nest__io_await(nest_session *s, struct nest__waiter *waiter) {
    const struct nest__wait *wait = waiter->wait;
    if (wait->what == NEST__WORK) {
        nest__wheel_drop(s);
        return script_job_add(s, waiter);
    }
    if (script_over) {
        waiter->result = -ECANCELED;
        return false;
    }
    if (script_satisfied(s, waiter)) {
        return false;
    }
    if (wait->deadline != 0 && nest__reached(wait->deadline, script_now)) {
        waiter->result = wait->what == NEST__TIME ? 0 : -ETIMEDOUT;
        return false;
    }
    nest__wheel_set(s, wait->deadline, script_now);
    return true;
}

nest_session *script_waited(nest_session *s, int result) {
    ((struct nest__waiter *)s->waiter)->result = result;
    nest__wheel_drop(s);
    return s;
}

/* -- conversations */

void script_scribble(void) {
    memset(script_buffer, 0xa5, script_lent);
    script_lent = 0;
}

static void script_closed(nest_session *s) {
    uint32_t who = (uint32_t)s->c0.fd;
    struct script_client *client = script_clients[who - 1];
    bool cut = !client->reset && (s->c0.state & NEST__CHAN_CUT) != 0;
    if (nest__command_closed(who, cut) < 0) {
        nest__say("no memory to print that conversation %u is closed", (unsigned)who);
        script_status = 1;
    }
    nest__wheel_drop(s);
    nest__released(s);
    if (script_again) { /* else numbers stay unique */
        nest__slot_give(s, true);
    }
    nest__accept_open(true);
    (free)(client->sent);
    (free)(client);
    script_clients[who - 1] = NULL;
    script_live--;
}

/* One receive: what the client has sent, as far as the buffer holds it. */
static unsigned script_receive(nest_session *s) {
    struct nest__window window = {NULL, 0, false};
    uint32_t room = nest__in_space(s, &s->c0, &window.p);
    if (room == 0) {
        window = (struct nest__window){script_buffer, 0, true};
        room = sizeof script_buffer;
    }
    window.n = script_copy(script_client_of(s), window.p, room);
    script_lent = window.lent ? window.n : 0;
    nest__chan_received(&s->c0, window.n == room);
    unsigned want = nest__pump(s, &s->c0, &window);
    if (nest__own(s, &window) < 0) {
        want = nest__event(s, NEST__EVENT_RESET);
    }
    script_scribble();
    return want;
}

/* Goes on with a conversation until it must wait for its client. */
static void script_serve(nest_session *s, unsigned want) {
    struct nest__window none = {NULL, 0, false};
    struct script_client *client = script_client_of(s);
    for (;;) {
        if ((want & (NEST__WANT_END | NEST__WANT_AGAIN)) != 0) {
            nest__push(s, &s->c0);
        }
        bool stalled = nest__out_queued(s, &s->c0) > 0 && (client->room == 0 || client->reset);
        if ((want & NEST__WANT_END) != 0 && (!stalled || client->reset || script_over)) {
            script_closed(s);
            return;
        }
        if (stalled) {
            break;
        }
        if ((want & NEST__WANT_AGAIN) != 0) {
            want = nest__pump(s, &s->c0, &none);
        } else if (client->n > 0) {
            want = script_receive(s);
        } else if (client->eof && (s->c0.state & NEST__CHAN_EOF) == 0) {
            want = nest__event(s, NEST__EVENT_EOF);
        } else {
            nest__push(s, &s->c0);
            break;
        }
    }
    nest__wheel_set(s, nest__deadline(s), script_now);
}

void script_begin(nest_session *s, const struct nest__arrival *arrival) {
    script_clients[arrival->fd - 1]->slot = s->self.slot;
    script_live++;
    nest__wheel_new(s);
    unsigned want = nest__open(s, arrival);
    script_serve(s, want);
}

void script_go_on(nest_session *s) {
    struct nest__window none = {NULL, 0, false};
    unsigned want = nest__pump(s, &s->c0, &none);
    script_serve(s, want);
}

void script_tell(nest_session *s, enum nest__event event) {
    bool acting = s->phase == NEST__ACTING;
    unsigned want = nest__event(s, event);
    if (!acting) {
        script_serve(s, want);
    }
}

nest_session *script_heard(nest_session *s) {
    if ((s->flags & NEST__WAITING) == 0) {
        script_go_on(s);
        return NULL;
    }
    struct nest__waiter *waiter = s->waiter;
    nest__push(s, &s->c0);
    return script_satisfied(s, waiter) ? script_waited(s, waiter->result) : NULL;
}

nest_session *script_reset(nest_session *s) {
    struct script_client *client = script_client_of(s);
    client->n = 0;
    client->reset = true;
    if ((s->flags & NEST__WAITING) != 0 &&
        ((struct nest__waiter *)s->waiter)->wait->what != NEST__WORK) {
        return script_waited(s, -ECONNRESET);
    }
    script_tell(s, NEST__EVENT_RESET);
    return NULL;
}

nest_session *script_due(nest_session *s) {
    if ((s->flags & NEST__WAITING) != 0) {
        const struct nest__waiter *waiter = s->waiter;
        return script_waited(s, waiter->wait->what == NEST__TIME ? 0 : -ETIMEDOUT);
    }
    script_tell(s, NEST__EVENT_EXPIRED);
    return NULL;
}
