/* script.c: the kind of channel whose client is a script: no socket, no clock, no chance.
 *
 * Called as channel.h says, and by the other files of the script's poller; also stands for the
 * listener. State: the conversations of this process. Must not know the language, nor sessions. */
#include "script.h"
#include "../platform/platform.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct script_client *script_clients[SCRIPT_NUMBERS]; /* by number - 1 */
static uint32_t script_latest = SCRIPT_CONVERSATIONS;        /* of those that the server began */
int script_status;
bool script_lingers;

struct nest__listener nest__listeners[NEST__LISTEN_MAX]; /* the first has no name, nor port */
unsigned nest__listener_count;

int nest__listen_open(void) {
    return 0;
}

void nest__listen_close(void) {
}

/* -- clients */

struct script_client *script_client(uint32_t who) {
    return script_clients[who - 1];
}

struct script_client *script_client_of(const struct nest__chan *chan) {
    return script_clients[chan->fd - 1];
}

struct script_client *script_client_make(uint32_t who) {
    struct script_client *client = script_clients[who - 1];
    if (client == NULL && (client = (malloc)(sizeof *client)) != NULL) {
        *client = (struct script_client){.room = UINT64_MAX, .slot = NEST__NO_SLOT};
        script_clients[who - 1] = client;
    }
    return client;
}

int script_dial(void) {
    if (script_latest == SCRIPT_NUMBERS || script_client_make(script_latest + 1) == NULL) {
        return -ENOMEM;
    }
    return (int)++script_latest;
}

uint32_t script_dialled(void) {
    return script_latest;
}

/* The first number behind `who` and up to `last` whose conversation is not closed; last + 1. */
static uint32_t script_behind(uint32_t who, uint32_t last) {
    do {
        who++;
    } while (who <= last && script_clients[who - 1] == NULL);
    return who;
}

uint32_t script_next(uint32_t who, uint32_t opened) {
    if (who < opened && (who = script_behind(who, opened)) <= opened) {
        return who;
    }
    who = who < SCRIPT_CONVERSATIONS ? SCRIPT_CONVERSATIONS : who;
    who = script_behind(who, script_latest);
    return who <= script_latest ? who : 0;
}

int script_sent(struct script_client *client, const uint8_t *bytes, size_t n) {
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

/* -- the channel */

/* The environment variable NEST_PEER replaces the first word. A test repeats a conversation with
 * another address, to see what in the replies depends on it. */
void nest__peer_text(const struct nest__chan *chan, char *to, size_t size) {
    struct nest__line line = {to, 0, size - 1};
    const char *from = getenv("NEST_PEER");
    nest__line_add(&line, from == NULL ? "script" : from);
    nest__line_add(&line, ":");
    nest__line_number(&line, (uint64_t)chan->fd);
    to[line.n] = '\0';
}

/* All clients of a script have one address. */
bool nest__peer_bytes(const struct nest__chan *chan, uint8_t to[16]) {
    static const uint8_t loopback[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
    (void)chan;
    memcpy(to, loopback, sizeof loopback);
    return true;
}

bool nest__chan_pending(const struct nest__chan *chan) {
    return script_client_of(chan)->n > 0 || (NEST__DECODES > 0 && nest__stages_hold(chan));
}

uint64_t nest__chan_unsent(const struct nest__chan *chan) {
    (void)chan;
    return 0; /* what is sent is received */
}

uint64_t nest__chan_given(const struct nest__chan *chan, uint64_t sent) {
    return NEST__ENCODES > 0 && nest__encodes_are(chan) ? nest__encodes_given(chan, sent) : sent;
}

bool nest__chan_unread(const struct nest__chan *chan) {
    return nest__chan_pending(chan);
}

static int64_t script_receive(const struct nest__chan *chan, void *to, size_t room, bool now) {
    struct script_client *client = script_client_of(chan);
    size_t n = client->n < room ? client->n : room;
    (void)now;
    if (client->reset) {
        return -ECONNRESET;
    }
    if (n == 0) {
        return client->eof ? 0 : -EAGAIN;
    }
    memcpy(to, client->sent + client->at, n);
    client->n -= n;
    client->at = client->n == 0 ? 0 : client->at + n;
    return (int64_t)n;
}

int64_t nest__chan_receive(const struct nest__chan *chan, void *to, size_t room,
                           enum nest__chan_how how) {
    bool now = how == NEST__CHAN_NOW;
    return NEST__DECODES > 0 && nest__stages_are(chan)
               ? nest__stages_receive(chan, to, room, now, script_receive)
               : script_receive(chan, to, room, now);
}

static void script_print(const struct nest__chan *chan, struct script_client *client, const void *p,
                         size_t n) {
    if (nest__command_out((uint32_t)chan->fd, p, n) < 0) {
        nest__say("no memory to print the output of conversation %d", (int)chan->fd);
        script_status = 1;
    }
    client->room -= client->room == UINT64_MAX ? 0 : n;
}

static int64_t script_send(const struct nest__chan *chan, const struct nest__out out[], int pieces,
                           bool now) {
    struct script_client *client = script_client_of(chan);
    uint64_t sent = 0;
    (void)now;
    if (client->reset) {
        return -ECONNRESET;
    }
    for (int i = 0; i < pieces && client->room > 0; i++) {
        uint64_t n = out[i].n < client->room ? out[i].n : client->room;
        script_print(chan, client, out[i].p, (size_t)n);
        sent += n;
    }
    return sent == 0 ? -EAGAIN : (int64_t)sent;
}

int64_t nest__chan_send(const struct nest__chan *chan, const struct nest__out out[], int pieces,
                        enum nest__chan_how how) {
    bool now = how == NEST__CHAN_NOW;
    return NEST__ENCODES > 0 && nest__encodes_are(chan)
               ? nest__encodes_send(chan, out, pieces, now, script_send)
               : script_send(chan, out, pieces, now);
}

int64_t nest__chan_send_file(const struct nest__chan *chan, int fd, uint64_t at, uint64_t n) {
    struct script_client *client = script_client_of(chan);
    uint8_t piece[4096];
    uint64_t most = n < client->room ? n : client->room, sent = 0;
    if (client->reset) {
        return -ECONNRESET;
    }
    if (most == 0 || script_disk_is_cold()) {
        return -EAGAIN;
    }
    if (NEST__ENCODES > 0 && nest__encodes_are(chan)) {
        return nest__encodes_send_file(chan, fd, at, n, script_send);
    }
    while (sent < most) {
        uint64_t want = most - sent < sizeof piece ? most - sent : sizeof piece;
        ssize_t got = pread(fd, piece, (size_t)want, (off_t)(at + sent));
        if (got <= 0) {
            return sent > 0 ? (int64_t)sent : got == 0 ? 0 : -errno;
        }
        script_print(chan, client, piece, (size_t)got);
        sent += (uint64_t)got;
    }
    return (int64_t)sent;
}

bool nest__chan_encoded(const struct nest__chan *chan) {
    return NEST__ENCODES == 0 || nest__encodes_bye(chan, script_send);
}

int nest__chan_half_close(const struct nest__chan *chan) {
    if (!nest__chan_encoded(chan)) {
        return 0;
    }
    return script_lingers && !script_client_of(chan)->reset ? 0 : -1;
}

/* A client that was gone before cannot tell a reset from an end. */
void nest__chan_close(const struct nest__chan *chan) {
    uint32_t who = (uint32_t)chan->fd;
    struct script_client *client = script_client_of(chan);
    bool cut = !client->reset && (chan->state & NEST__CHAN_CUT) != 0;
    nest__chan_undress(chan);
    if (nest__command_closed(who, cut) < 0) {
        nest__say("no memory to print that conversation %u is closed", (unsigned)who);
        script_status = 1;
    }
    script_untouch(client);
    script_clients[who - 1] = NULL;
    (free)(client->sent);
    (free)(client);
}
