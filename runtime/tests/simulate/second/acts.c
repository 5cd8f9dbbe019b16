/* acts.c: the actions, which do what they draw with second connections, and check each directive
 * against what the sides have done.
 *
 * Called by the engine. State: in the calls. An action stops when its session is cut short; a
 * second connection that has failed is only closed. */
#include "second.h"

#include "../../../engine/second.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACT_ROOM = 3000 };

struct call *act_of(const nest_session *s) {
    struct call *call = second.calls;
    while (call != NULL && call->session != s) {
        call = call->next;
    }
    if (call == NULL) {
        sim_broken(NULL, "an action runs for a conversation that is closed");
    }
    return call;
}

_Noreturn void act_broken(const struct call *call, const char *what, int error) {
    sim_broken(NULL, "conversation %u: %s: %s, after %u ms", (unsigned)call->who, what,
               error == 0 ? "no error" : strerror(error), (unsigned)(nest__now() - call->from));
}

bool act_is(uint32_t time) {
    return nest__after(nest__now(), 0) == nest__after(time, 0);
}

/* -- waits */

void act_begin(struct call *call, enum call_wait wait, uint32_t ms) {
    static const char *const waits[] = {"goes",          "dials",  "reads", "writes",
                                        "waits for any", "relays", "sleeps"};
    if (sim.verbose) {
        printf("# %u %s, at most %u ms\n", (unsigned)call->who, waits[wait], (unsigned)ms);
    }
    call->wait = wait;
    call->from = nest__now();
    call->limited = ms != 0;
    call->until = nest__after(call->from, ms);
    call->on_n = 0;
}

static void act_begin_on(struct call *call, enum call_wait wait, uint32_t ms, struct side *side) {
    act_begin(call, wait, ms);
    call->on[call->on_n++] = side;
    if (sim.verbose) {
        printf("#   on %u\n", (unsigned)side->who);
    }
}

int act_wait(nest_session *s, const struct nest__wait *wait) {
    if (++second.waits > SECOND_WAITS) {
        act_broken(act_of(s), "its action waits again and again, and nothing happens", 0);
    }
    return nest__wait_in_fiber(s, wait);
}

bool act_fails(const struct call *call) {
    return nest__fails(call->session, nest__acting(call->session));
}

/* The session was cut short: it must have a reason. */
void act_cut(struct call *call, enum call_wait wait, const char *what, int error) {
    const struct side *client = call->client;
    bool right = call->cut || side_pardoned(client);
    if (error == ECONNRESET) {
        right = right || client->reset || (call->minds && client->eof && wait != CALL_RELAY);
    } else if (error == ECANCELED) {
        right = right || nest__loop.cut || side_late(client, false);
    } else if (error == ETIMEDOUT) {
        right = right || side_late(client, false);
    }
    if (!right) {
        act_broken(call, what, error);
    }
    call->cut = call->client->dropped = true;
}

static void act_sleep(struct call *call, uint32_t ms) {
    act_begin(call, CALL_SLEEP, ms);
    int result = nest_sleep(call->session, ms), error = errno;
    call->wait = CALL_GOES;
    if (result < 0) {
        act_cut(call, CALL_SLEEP, "a sleep", error);
    } else if (!act_is(call->until) && ms != 0) {
        act_broken(call, "a sleep", 0);
    }
}

/* Whether a directive on this side has succeeded. */
static bool act_told(struct call *call, struct side *side, const char *what, bool fails) {
    int error = errno;
    enum call_wait wait = call->wait;
    call->wait = CALL_GOES;
    if (!fails) {
        if (side->lost) {
            act_broken(call, what, 0);
        }
        return true;
    }
    if (act_fails(call)) {
        act_cut(call, wait, what, error);
    } else if (!side_is_lost(side) ||
               (error != ECONNRESET && error != ETIMEDOUT && error != ECANCELED)) {
        act_broken(call, what, error);
    }
    return false;
}

/* A read has waited as long as it may: its output comes first, and its time goes on meanwhile. */
static bool act_read_is_over(struct call *call, const struct side *side) {
    bool drained = act_is(side->moved) && (int32_t)(nest__now() - call->until) > 0;
    bool over = errno == ETIMEDOUT && !act_fails(call) && call->limited &&
                (side_further(side)->chan.state & NEST__CHAN_CUT) == 0;
    if (over && !act_is(call->until) && !drained) {
        act_broken(call, "a read ends by its time", ETIMEDOUT);
    }
    call->wait = over ? CALL_GOES : call->wait;
    return over;
}

/* -- connections */

static unsigned act_open(const struct call *call, struct side *found[16]) {
    unsigned count = 0;
    for (struct side *side = second.sides; side != NULL; side = side->next) {
        if (side->call == call && side->handle > 0 && side->kind != SIDE_CLIENT && !side->closing) {
            found[count++] = side;
        }
    }
    return count;
}

/* All that have a number, also those that still deliver. */
static unsigned act_channels(const struct call *call) {
    unsigned count = 0;
    for (const struct side *side = second.sides; side != NULL; side = side->next) {
        count += side->call == call && side->kind != SIDE_CLIENT && side_further(side) != NULL;
    }
    return count;
}

/* The new connection of a handle. */
static void act_take(struct call *call, int handle, enum side_kind kind) {
    struct side *side = second.sides;
    for (; side != NULL; side = side->next) {
        const struct nest__further *further = side->call == call ? side_further(side) : NULL;
        if (side->kind != SIDE_CLIENT && further != NULL &&
            nest__second_handle(further) == handle) {
            break;
        }
    }
    if (side == NULL || side->kind != kind || side->handle != 0 || side->pends ||
        side->error != 0) {
        act_broken(call, "a new handle names no new connection", 0);
    }
    side->handle = handle;
}

static bool act_dialled(struct call *call, int error, unsigned before) {
    if (error == EMFILE && (before >= NEST__FURTHER - SECOND_AT_ONCE || call->error == EMFILE)) {
        return true;
    }
    if (error == ETIMEDOUT && call->limited && act_is(call->until)) {
        return true;
    }
    return error == call->error && call->open == 0 && call->tried == call->addresses;
}

static void act_dial(struct call *call) {
    static const char *const addresses[] = {"10.0.0.1:80", "[2001:db8::1]:80", "unix:/run/x",
                                            "name:80",     "name:80",          "nowhere"};
    unsigned which = sim_random(6), before = act_channels(call);
    uint32_t ms = DRAW(0, 1, 249, 250, 600, 3000, 3000);
    sock_tried(call);
    call->found = which < 3;
    call->addresses = which < 3;
    act_begin(call, CALL_DIAL, ms != 0 ? ms : nest__config.read_timeout);
    int handle = nest_dial(call->session, addresses[which], ms), error = errno;
    call->wait = CALL_GOES;
    if (handle > 0) {
        act_take(call, handle, SIDE_DIALLED);
        return;
    }
    if (act_fails(call)) {
        act_cut(call, CALL_DIAL, "a dial", error);
    } else if (*nest_dial_error(call->session) == '\0' && !side_pardoned(call->client)) {
        act_broken(call, "a dial fails without words", error);
    } else if (!(which == 5 && error == EINVAL) && !act_dialled(call, error, before) &&
               !side_pardoned(call->client)) {
        act_broken(call, "a dial", error);
    }
}

static void act_listen(struct call *call) {
    bool anyone = sim_chance(30), full = act_channels(call) == NEST__FURTHER;
    int handle =
        nest_listen(call->session, sim_chance(50) ? "0" : "4000-4003", anyone ? NEST_ANYONE : 0);
    if (handle > 0) {
        act_take(call, handle, SIDE_LISTENER);
        side_find((uint32_t)nest__further_next(call->session, (unsigned)handle % 16 - 1)->chan.fd)
            ->never = anyone;
    } else if (act_fails(call)) {
        act_cut(call, CALL_GOES, "a listen", errno);
    } else if (errno != EADDRINUSE && (errno != EMFILE || !full) && !side_pardoned(call->client)) {
        act_broken(call, "a listen", errno);
    }
}

static void act_accept(struct call *call, struct side *listener) {
    uint32_t ms = DRAW(0, 10, 400, 2000);
    act_begin_on(call, CALL_READ, ms != 0 ? ms : nest__config.read_timeout, listener);
    int handle = nest_accept(call->session, listener->handle, ms), error = errno;
    call->wait = CALL_GOES;
    if (handle > 0) {
        act_take(call, handle, SIDE_ACCEPTED);
        const struct side *side = second.sides;
        while (side->handle != handle || side->call != call) {
            side = side->next;
        }
        if (side->foreign && !listener->never) {
            act_broken(call, "a stranger is accepted", 0);
        }
        side_find(side->who)->foreign = false;
    } else if (act_fails(call)) {
        act_cut(call, CALL_READ, "an accept", error);
    } else if (error == ECONNRESET) {
        (void)act_told(call, listener, "an accept", true);
    } else if (!(error == ETIMEDOUT && call->limited && act_is(call->until)) &&
               !(error == EMFILE && act_channels(call) == NEST__FURTHER) &&
               !side_pardoned(call->client)) {
        act_broken(call, "an accept", error);
    }
}

/* -- output */

static uint32_t act_bytes(uint8_t **bytes) {
    uint32_t n = DRAW(1, 10, 100, 1000, 9000), most = 6 * nest__config.output_buffer;
    n = 1 + sim_random(n < most ? n : most);
    *bytes = (malloc)(n); /* others write while this one waits */
    for (uint32_t i = 0; i < n; i++) {
        (*bytes)[i] = (uint8_t)('A' + sim_random(26));
    }
    return n;
}

static void act_say(struct call *call, struct side *side) {
    uint8_t *bytes;
    uint32_t n = act_bytes(&bytes);
    bool refused = side->ended || side->kind == SIDE_LISTENER;
    if (!refused) {
        side_want(side, bytes, n);
    }
    act_begin_on(call, CALL_WRITE, 0, side);
    int result = nest_reply_bytes_to(call->session, side->handle, bytes, n);
    if (refused && result < 0 && errno == EPIPE && !act_fails(call)) {
        call->wait = CALL_GOES;
    } else if (refused && result == 0) {
        act_broken(call, "output behind its end", 0);
    } else {
        side->dropped = side->dropped || result < 0;
        (void)act_told(call, side, "a reply", result < 0);
    }
    (free)(bytes);
}

static void act_reply(struct call *call) {
    uint8_t *bytes;
    uint32_t n = act_bytes(&bytes);
    side_want(call->client, bytes, n);
    act_begin_on(call, CALL_WRITE, 0, call->client);
    int result = nest_reply_bytes(call->session, bytes, n), error = errno;
    call->wait = CALL_GOES;
    if (result < 0) {
        call->client->dropped = true;
        act_cut(call, CALL_WRITE, "a reply to the client", error);
    }
    (free)(bytes);
}

static void act_text(struct call *call, struct side *side) {
    char text[700];
    uint32_t n = 1 + sim_random(sizeof text - 1);
    if (side->ended || side->kind == SIDE_LISTENER) {
        return;
    }
    memset(text, 't', n);
    side_want(side, (const uint8_t *)text, n);
    act_begin_on(call, CALL_WRITE, 0, side);
    bool fails = nest_replyf_to(call->session, side->handle, "%.*s", (int)n, text) < 0;
    side->dropped = side->dropped || fails;
    if (act_told(call, side, "a text", fails)) {
        act_begin_on(call, CALL_WRITE, 0, side);
        (void)act_told(call, side, "a flush", nest_flush_to(call->session, side->handle) < 0);
    }
}

static void act_end_to(struct call *call, struct side *side) {
    if (side->ended || side->kind == SIDE_LISTENER) {
        return;
    }
    act_begin_on(call, CALL_WRITE, 0, side);
    if (act_told(call, side, "an end", nest_end_to(call->session, side->handle) < 0) &&
        !side->ended) {
        act_broken(call, "an end is not told", 0);
    }
}

static void act_close(struct call *call, struct side *side) {
    bool cut = sim_chance(30);
    int handle = side->handle;
    call->stale = handle;
    side->closing = true;
    side->dropped = side->dropped || cut;
    if (nest_close_to(call->session, handle, cut ? NEST_CUT : 0) < 0 || /* which may free it */
        nest_close_to(call->session, handle, 0) == 0) {
        act_broken(call, "it is not closed, or closed twice", errno);
    }
}

/* -- input */

static void act_took(struct call *call, struct side *side, const void *bytes, size_t n) {
    if (side->taken + n > side->said_n ||
        (n > 0 && memcmp(bytes, side->said + side->taken, n) != 0)) {
        act_broken(call, "a read gives other bytes", 0);
    }
    side->taken += (uint32_t)n;
}

static uint32_t act_limit(const struct side *side) {
    return side->limit != 0 ? side->limit : nest__config.read_timeout;
}

/* Nothing more comes. */
static void act_ended(struct call *call, const struct side *side, bool less) {
    if (!side->eof || !less) {
        act_broken(call, "a read says that nothing follows", 0);
    }
    call->wait = CALL_GOES;
}

static void act_line(struct call *call, struct side *side) {
    uint32_t max = DRAW(0, 5, 20, 100, 100000), most = max;
    most = most < nest__config.input_buffer ? most : nest__config.input_buffer;
    act_begin_on(call, CALL_READ, act_limit(side), side);
    const char *text = nest_read_line_from(call->session, side->handle, max);
    const uint8_t *p = side->said + side->taken;
    uint32_t n = side->said_n - side->taken;
    const uint8_t *lf = n == 0 ? NULL : memchr(p, '\n', n < most + 2 ? n : most + 2);
    uint32_t line = lf == NULL ? n : (uint32_t)(lf - p);
    uint32_t cr = lf != NULL && line > 0 && p[line - 1] == '\r';
    if (text != NULL) {
        if (lf == NULL || line - cr > most || strlen(text) != line - cr) {
            act_broken(call, "it reads a line that is none", 0);
        }
        act_took(call, side, text, line - cr);
        side->taken += cr + 1;
        (void)act_told(call, side, "a line", false);
        if (sim_chance(30)) {
            act_sleep(call, 1);
            if (memcmp(text, side->said + side->taken - cr - 1 - (line - cr), line - cr) != 0) {
                act_broken(call, "its line has changed", 0);
            }
        }
    } else if (errno == 0) {
        act_ended(call, side, lf == NULL && n <= most + 1);
    } else if (errno == EMSGSIZE && line - cr > most) {
        call->wait = CALL_GOES;
    } else if (!act_read_is_over(call, side)) {
        (void)act_told(call, side, "a line", true);
    }
}

static void act_read(struct call *call, struct side *side) {
    uint32_t n = DRAW(0, 1, 10, 200, 5000);
    act_begin_on(call, CALL_READ, act_limit(side), side);
    const char *text = nest_read_from(call->session, side->handle, n);
    if (text != NULL) {
        act_took(call, side, text, n);
        (void)act_told(call, side, "a read", false);
    } else if (errno == 0) {
        act_ended(call, side, side->said_n - side->taken < n);
    } else if (errno == EMSGSIZE && n > nest__config.input_buffer) {
        call->wait = CALL_GOES;
    } else if (!act_read_is_over(call, side)) {
        (void)act_told(call, side, "a read", true);
    }
}

static void act_some(struct call *call, struct side *side) {
    uint8_t *bytes = (malloc)(ACT_ROOM);
    uint32_t room = 1 + sim_random(DRAW(5, 100, ACT_ROOM));
    act_begin_on(call, CALL_READ, act_limit(side), side);
    long n = nest_read_some_from(call->session, side->handle, bytes, room);
    if (n > 0) {
        act_took(call, side, bytes, (size_t)n);
        (void)act_told(call, side, "a read of some", false);
    } else if (n == 0) {
        act_ended(call, side, side->taken == side->said_n && errno == 0);
    } else if (!act_read_is_over(call, side)) {
        (void)act_told(call, side, "a read of some", true);
    }
    (free)(bytes);
}

/* Each piece has the whole time, and stays read when the next one does not come. */
static void act_into(struct call *call, struct side *side) {
    uint8_t *bytes = (malloc)(ACT_ROOM);
    uint32_t room = 1 + sim_random(DRAW(5, 100, ACT_ROOM)), ms = act_limit(side);
    act_begin_on(call, CALL_READ, 0, side);
    long n = nest_read_into_from(call->session, side->handle, bytes, room);
    if (n >= 0) {
        act_took(call, side, bytes, (size_t)n);
        if (n < (long)room) {
            act_ended(call, side, side->taken == side->said_n);
        }
        (void)act_told(call, side, "a read into", false);
    } else {
        side->murky = true;
        if (errno != ETIMEDOUT || act_fails(call) || ms == 0 ||
            (side_further(side)->chan.state & NEST__CHAN_CUT) != 0) {
            (void)act_told(call, side, "a read into", true);
        } else if (nest__now() - call->from < ms) {
            act_broken(call, "a read into", ETIMEDOUT);
        }
    }
    call->wait = CALL_GOES;
    (free)(bytes);
}

void act_client(struct call *call) {
    struct side *client = call->client;
    act_begin_on(call, CALL_READ, 0, client);
    const char *text = nest_read(call->session, 1);
    int error = errno;
    call->wait = CALL_GOES;
    if (text != NULL) {
        act_took(call, client, text, 1);
    } else if (error == 0) {
        act_ended(call, client, client->taken == client->said_n);
    } else {
        act_cut(call, CALL_READ, "a read of the client", error);
    }
}

/* -- an action */

static void act_of_side(struct call *call, struct side *side) {
    uint32_t what = sim_random(12);
    if (side->kind == SIDE_LISTENER && what > 3) {
        act_accept(call, side);
    } else if (what == 0 || side->lost || (side->kind == SIDE_LISTENER && what < 2)) {
        act_close(call, side);
    } else if (what < 4) {
        sim_chance(80) ? act_say(call, side) : act_text(call, side);
    } else if (what == 4) {
        act_end_to(call, side);
    } else if (what == 5) {
        uint32_t ms = DRAW(1, 300, 5000);
        if (act_told(call, side, "a limit", nest_timeout_of(call->session, side->handle, ms) < 0)) {
            side->limit = ms;
        }
    } else if (!side->murky) {
        static void (*const reads[])(struct call *, struct side *) = {act_line, act_read, act_some,
                                                                      act_into};
        reads[sim_random(4)](call, side);
    }
}

static bool act_drops(const struct call *call) {
    return call->client->taken != call->client->said_n || call->client->murky ||
           call->client->ended;
}

void act_run(struct call *call) {
    struct side *open[16];
    call->acting = true;
    for (unsigned steps = 1 + sim_random(12); steps > 0 && !call->cut; steps--) {
        unsigned count = act_open(call, open), what = sim_random(100);
        if (count == 0 || what < (count < 4 ? 15u : 2u)) {
            bool all = sim_chance(3); /* more than there may be */
            for (unsigned more = all ? 16 : 1; more > 0 && !call->cut; more--) {
                sim_chance(all ? 10 : 75) ? act_dial(call) : act_listen(call);
            }
        } else if (what < 40) {
            several_relay(call, open, count);
        } else if (what < 55) {
            several_any(call, open, count);
        } else if (what < 60) {
            act_sleep(call, DRAW(0, 1, 50, 300, 2500));
        } else if (what < 66 && !call->client->ended) {
            act_reply(call);
        } else if (what < 69) {
            several_wrong(call, open[sim_random(count)]);
        } else if (what < 70) {
            nest_cancel_on_end(call->session);
            call->minds = true;
        } else {
            act_of_side(call, open[sim_random(count)]);
        }
    }
    if (act_drops(call) || sim_chance(40)) {
        call->closes = true;
        nest_close(call->session);
    }
    call->asks = !call->closes;
    call->acting = false;
}

/* -- what the engine calls */

static void act_start(nest_session *s) {
    struct side *client = side_find((uint32_t)s->c0.fd);
    struct call *call = client->call;
    call->session = client->session = s;
    call->starts++;
}

static void act_over(struct call *call) {
    const struct side *client = call->client;
    enum nest_reason reason = nest_reason(call->session);
    bool right = side_pardoned(client);
    switch (reason) {
    case NEST_CLOSED:
        right = right || call->closes;
        break;
    case NEST_EOF:
        right = right || (client->eof && client->taken == client->said_n && !call->closes);
        break;
    case NEST_GONE:
        right = right || client->reset || (call->minds && client->eof);
        break;
    case NEST_TIMEOUT:
        right = right || side_late(client, false) || !call->closes;
        break;
    case NEST_SHUTDOWN:
        right = right || sim.draining;
        break;
    default:
        break;
    }
    if (!right) {
        act_broken(call, nest_reason_text(call->session), 0);
    }
    struct side *open[16];
    unsigned count = act_open(call, open);
    if (count > 0 && sim_chance(20)) { /* a last word */
        struct side *side = open[sim_random(count)];
        call->acting = true;
        side->lost ? act_close(call, side) : act_say(call, side);
        call->acting = false;
    }
    call->over = true;
    call->ends++;
}

void nest__spec_act(nest_session *s, void *vars, int rule, const struct nest_message *message) {
    (void)vars, (void)message;
    if (rule == NEST__ACT_START) {
        act_start(s);
        return;
    }
    struct call *call = act_of(s);
    if (rule == NEST__ACT_END) {
        act_over(call);
    } else {
        call->asks = false;
        call->client->taken += 4;
        act_run(call);
    }
}
