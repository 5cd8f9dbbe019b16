/* script_later.c: operations that complete later, in parts, and in another order than they began:
 * as those of a ring do.
 *
 * Called by script_poller.c. State: in the clients; whether operations are delayed. Must not know
 * what a session does. A send takes its bytes when it completes, and not before: if they have
 * changed meanwhile, the server is wrong, and ends. Received bytes are always lent. */
#include "direct.h"
#include "script.h"

#include "../platform/platform.h"

#include <errno.h>
#include <stdlib.h>

bool script_later;

static uint64_t later_sum(const struct nest__out pieces[], int count) { /* FNV-1a */
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < count; i++) {
        const uint8_t *p = pieces[i].p;
        for (uint64_t at = 0; at < pieces[i].n; at++) {
            sum = (sum ^ p[at]) * UINT64_C(0x100000001b3);
        }
    }
    return sum;
}

/* -- sends */

int script_later_push(nest_session *s, struct nest__chan *chan) {
    struct script_client *client = script_client_of(chan);
    uint64_t all = 0;
    if (client->reset) {
        return -ECONNRESET;
    }
    if (client->pieces > 0) {
        return 0;
    }
    int pieces = nest__out_next(s, chan, client->flight, NEST__CHAN_VECTORS);
    bool file = pieces > 0 && client->flight[0].kind == NEST__OUT_FILE;
    if (file || (NEST__ENCODES > 0 && nest__encodes_are(chan))) {
        return nest__direct_push(s, chan); /* no memory of the queue is in flight */
    }
    for (int i = 0; i < pieces; i++) {
        all += client->flight[i].n;
    }
    if (pieces > 0) {
        client->pieces = pieces;
        client->sum = later_sum(client->flight, pieces);
        nest__out_taken(s, chan, all);
    }
    return 0;
}

static bool later_sends(const struct script_client *client) {
    return client->pieces > 0 && (client->room > 0 || client->reset);
}

/* The first `most` bytes leave, as far as the client takes them. */
static void later_send(nest_session *s, struct nest__chan *chan, struct script_client *client,
                       uint64_t most) {
    int pieces = 0;
    int64_t sent = 0;
    if (later_sum(client->flight, client->pieces) != client->sum) {
        nest__say("bytes in flight have changed");
        abort();
    }
    for (uint64_t left = most; pieces < client->pieces && left > 0; pieces++) {
        struct nest__out *out = &client->flight[pieces];
        out->n = out->n < left ? out->n : left;
        left -= out->n;
    }
    client->pieces = 0;
    if (!client->reset && pieces > 0) {
        sent = nest__chan_send(chan, client->flight, pieces, NEST__CHAN_NOW);
        nest__chan_sent(chan);
    }
    nest__out_sent(s, chan, sent > 0 ? (uint64_t)sent : 0);
}

/* -- what can complete */

/* What its channel awaits; nothing if its session has a turn coming, at which it is looked at. */
static enum nest__await later_awaits(const struct script_client *client) {
    nest_session *s = nest__slot_at(client->slot);
    bool turn = (s->flags & NEST__READY) != 0 && client->chan == nest__served(s);
    return turn ? NEST__AWAIT_NOTHING : (enum nest__await)client->chan->awaits;
}

static enum nest__operation later_operation(const struct script_client *client, bool *any) {
    *any = client != NULL && client->slot != NEST__NO_SLOT;
    if (!*any || client->closing) {
        return NEST__OP_CLOSE;
    }
    if (later_sends(client)) {
        return NEST__OP_SEND;
    }
    enum nest__await awaits = later_awaits(client);
    if (awaits == NEST__AWAIT_OUTPUT && client->pieces == 0 &&
        (client->room > 0 || client->reset)) {
        return NEST__OP_SEND; /* of a file, which was not taken whole */
    }
    if ((awaits == NEST__AWAIT_INPUT || awaits == NEST__AWAIT_BOTH) && script_readable(client)) {
        return NEST__OP_RECEIVE;
    }
    if (awaits == NEST__AWAIT_READY && script_readable(client)) {
        return NEST__OP_SEND;
    }
    *any = awaits == NEST__AWAIT_ERRORS && script_minds(client);
    return NEST__OP_WATCH;
}

uint32_t script_later_count(void) {
    uint32_t count = 0;
    for (uint32_t who = script_next(0, script_taken); script_later && who != 0;
         who = script_next(who, script_taken)) {
        bool any;
        (void)later_operation(script_client(who), &any);
        count += any;
    }
    return count + (script_later && script_accepts());
}

static int64_t later_receive(nest_session *s, struct nest__chan *chan,
                             const struct script_client *client, uint64_t most,
                             struct nest__window *window) {
    uint8_t *p;
    uint32_t room = nest__receive_space(s, chan, &p);
    (void)client;
    room = !NEST__MESSAGES && most < room ? (uint32_t)most : room;
    *window = (struct nest__window){.p = nest__direct_buffer, .lent = true};
    int64_t n = nest__chan_receive(chan, nest__direct_buffer, room, NEST__CHAN_NOW);
    if (n > 0) {
        window->n = (uint32_t)n;
        nest__chan_received(chan, window->n == room);
        script_lent(window);
    }
    return n;
}

bool script_later_finish(struct script_client *client, uint64_t most,
                         struct nest__completion *done) {
    bool any;
    enum nest__operation operation = later_operation(client, &any);
    if (!any) {
        return false;
    }
    nest_session *s = nest__slot_at(client->slot);
    struct nest__chan *chan = client->chan;
    done->name = nest__name_of(s, chan, operation);
    done->result = 0;
    switch (operation) {
    case NEST__OP_CLOSE:
        if (client->pieces > 0) { /* cancelled */
            later_send(s, chan, client, 0);
        }
        nest__chan_close(chan);
        return true;
    case NEST__OP_SEND:
        if (client->pieces > 0) {
            later_send(s, chan, client, most);
        }
        done->result = client->reset ? -ECONNRESET : 0;
        return later_awaits(client) == NEST__AWAIT_OUTPUT ||
               later_awaits(client) == NEST__AWAIT_BOTH ||
               later_awaits(client) == NEST__AWAIT_READY;
    case NEST__OP_RECEIVE:
        done->result = later_receive(s, chan, client, most, &done->window);
        return true;
    default:
        done->result = -ECONNRESET;
        return true;
    }
}

bool script_later_complete(uint32_t which, uint64_t most, struct nest__completion *done) {
    for (uint32_t who = script_next(0, script_taken); who != 0;
         who = script_next(who, script_taken)) {
        bool any;
        (void)later_operation(script_client(who), &any);
        if (any && which-- == 0) {
            return script_later_finish(script_client(who), most, done);
        }
    }
    done->name = nest__name_of_loop(NEST__OP_ACCEPT, 0);
    done->result = 0;
    return which == 0 && script_accepts();
}

/* What is under way goes on as if it had begun now. */
void script_later_end(void) {
    script_later = false;
    for (uint32_t who = script_next(0, script_taken); who != 0;
         who = script_next(who, script_taken)) {
        struct script_client *client = script_client(who);
        if (client != NULL) {
            script_touch(client);
        }
    }
}
