/* draw.c: what clients and the other sides of second connections do, drawn from a seed.
 *
 * Called by the script for every command. State: none but second. After each command everything
 * has been done that it leads to, so this is where all is looked at. */
#include "second.h"

#include <stdio.h>
#include <string.h>

unsigned nest__command_number;

static struct nest__command draw_verb(enum nest__verb verb, uint32_t who) {
    return (struct nest__command){.verb = verb, .who = who, .room = UINT64_MAX};
}

/* -- the look */

static void draw_look_at(const struct call *call) {
    const struct side *client = call->client;
    bool waits = call->acting && call->wait != CALL_GOES;
    if (!waits) {
        return;
    }
    bool drains = call->wait == CALL_READ && side_queued(call->on[0]) > 0;
    bool late = call->limited && (int32_t)(nest__now() - call->until) > 0;
    if (call->wait == CALL_RELAY) {
        uint32_t end = nest__after(call->stirred, call->until - call->from);
        late = call->limited && (int32_t)(nest__now() - end) > 0;
    }
    if (late && !drains) {
        sim_broken(NULL, "conversation %u waits past its time", (unsigned)call->who);
    }
    if (client->reset) {
        side_broken(client, "it is gone, and its action waits");
    }
    if (call->minds && client->eof && call->wait != CALL_RELAY && side_queued(client) == 0 &&
        (call->wait != CALL_READ || call->on[0] != client)) {
        side_broken(client, "it has ended, and its action waits");
    }
    if (nest__loop.cut) {
        side_broken(client, "drainTimeout is over, and its action waits");
    }
    for (unsigned i = 0; i < call->on_n; i++) {
        const struct side *side = call->on[i];
        const struct side *to = call->wait == CALL_RELAY ? call->on[1 - i] : side;
        bool reads = call->wait == CALL_READ || call->wait == CALL_ANY || call->wait == CALL_RELAY;
        bool free = call->wait == CALL_ANY || side_queued(to) == 0;
        bool new = script_client(side->who)->n > 0 ||
                   (side->eof && (call->wait != CALL_RELAY || !to->ended)) || side->reset;
        if (side->reset || (reads && free && new && !(call->wait == CALL_RELAY && to->ended))) {
            side_broken(side, "its action waits for what has come");
        }
    }
    bool more = call->wait == CALL_DIAL && call->found && call->tried < call->addresses &&
                call->open < SECOND_AT_ONCE;
    if (more && (int32_t)(nest__now() - nest__after(call->last, SECOND_NEXT_MS)) > 0) {
        sim_broken(NULL, "conversation %u does not try the next address", (unsigned)call->who);
    }
}

static void draw_look(void) {
    bool settled = script_later_count() == 0; /* else what follows is not yet done */
    for (struct side *side = second.sides; side != NULL; side = side->next) {
        if (side->handle > 0) {
            (void)side_is_lost(side);
        }
        if (settled) {
            side_check(side);
        }
        if (side_queued(side) == 0) {
            side->filled = side->moved = nest__now();
        }
    }
    if (!settled) {
        return;
    }
    for (const struct call *call = second.calls; call != NULL; call = call->next) {
        draw_look_at(call);
    }
    if (sim.stop_at != 0 && !nest__loop.cut && nest__reached(sim.stop_at, nest__now())) {
        sim_broken(NULL, "drainTimeout is over, and nobody is cut");
    }
}

/* -- sides */

/* A relay of which it is one notices that, unless the other one takes no more. */
static void draw_stirs(const struct side *side, bool stalls) {
    struct call *call = side->call;
    for (unsigned i = 0; call != NULL && call->wait == CALL_RELAY && i < call->on_n; i++) {
        if (call->on[i] == side && (stalls || !call->on[1 - i]->ended)) {
            call->stirred = nest__now();
            call->stalls = call->stalls || stalls;
        }
    }
}

static struct nest__command draw_room(struct side *side, uint64_t room) {
    struct nest__command command = draw_verb(NEST__COMMAND_ROOM, side->who);
    side->room = command.room = room;
    draw_stirs(side, true);
    return command;
}

static struct nest__command draw_says(struct side *side) {
    struct nest__command command = draw_verb(NEST__COMMAND_IN, side->who);
    uint32_t from = side->said_n, n = 1 + sim_random(DRAW(3, 40, 400, 3000));
    if (side->kind == SIDE_CLIENT && (side->said_n == 0 || side->call->asks)) {
        for (const char *p = "ASK\n"; *p != '\0'; p++) {
            side_say(side, (uint8_t)*p);
        }
        side->call->asks = false;
        n = sim_chance(50) ? 0 : n;
    }
    for (; n > 0 && side->kind != SIDE_LISTENER; n--) {
        side_say(side, sim_random(15) == 0   ? '\n'
                       : sim_random(30) == 0 ? '\r'
                                             : (uint8_t)('a' + sim_random(26)));
    }
    if (side->kind == SIDE_LISTENER) {
        side_say(side, sim_chance(30) ? 'f' : 'o');
    }
    command.bytes = side->said + from;
    command.n = side->said_n - from;
    draw_stirs(side, false);
    return command;
}

static struct nest__command draw_eof(struct side *side) {
    side->eof = true;
    draw_stirs(side, false);
    return draw_verb(NEST__COMMAND_EOF, side->who);
}

/* What pends ends now. */
static struct nest__command draw_ends(struct side *side) {
    side->pends = side->never = false;
    if (side->kind == SIDE_LOOKUP) {
        return draw_eof(side);
    }
    if (side->error == 0 && sim_chance(20)) { /* it sends early */
        struct nest__command early = draw_says(side);
        (void)script_sent(script_client(side->who), early.bytes, early.n);
    }
    return draw_room(side, side->error != 0 || !sim_chance(second.stall) ? UINT64_MAX
                                                                         : 1 + sim_random(50));
}

static bool draw_is_due(const struct side *side, bool last) {
    return side->pends &&
           (last || (!side->never && (int32_t)(nest__now() - side->due) >= 0 && side->due != 0));
}

/* Nobody says anything at a read point but the next message. */
static bool draw_may_say(const struct side *side) {
    const struct call *call = side->call;
    if (side->eof || side->reset || side->said_n > SECOND_SAID || side->error != 0) {
        return false;
    }
    return side->kind != SIDE_CLIENT || side->said_n == 0 || call->acting || call->asks;
}

/* NOTHING: it rests. */
static struct nest__command draw_of(struct side *side, bool last) {
    struct nest__command none = draw_verb(NEST__COMMAND_NOTHING, 0);
    if (side->reset || side->pends || side->kind == SIDE_LOOKUP) {
        return none;
    }
    if (side->room != UINT64_MAX && (last || sim_chance(30))) {
        return draw_room(side, last || sim_chance(50) ? UINT64_MAX : sim_random(DRAW(10, 3000)));
    }
    if (side->kind != SIDE_LISTENER && !last && sim_chance(second.stall)) {
        return draw_room(side, sim_chance(50) ? 0 : sim_random(50));
    }
    if (sim_chance(second.reset) && sim_chance(30) && side->kind != SIDE_LISTENER) {
        side->reset = true;
        return draw_verb(NEST__COMMAND_RESET, side->who);
    }
    if (draw_may_say(side) && sim_chance(last ? 20 : 75)) {
        return draw_says(side);
    }
    if (!side->eof && side->kind != SIDE_LISTENER && sim_chance(last ? 60 : 10)) {
        return draw_eof(side);
    }
    return none;
}

/* -- all */

uint32_t draw_ms(void) {
    uint32_t ms = DRAW(1, 1, 30, 250, 1000, 3000), now = nest__now();
    uint32_t next = script_next_time();
    if (next != 0 && (int32_t)(next - now) > 0 && sim_chance(50)) {
        ms = next - now < ms ? next - now : ms;
    }
    if (nest__loop.cut) { /* what was cut closes before its time is over */
        ms = 1;
    }
    for (const struct side *side = second.sides; side != NULL; side = side->next) {
        if (side->pends && !side->never && (int32_t)(side->due - now) > 0 && side->due - now < ms) {
            ms = side->due - now;
        }
    }
    return ms;
}

static struct nest__command draw_pass(void) {
    struct nest__command command = draw_verb(NEST__COMMAND_PASS, 0);
    command.number = draw_ms();
    return command;
}

static struct nest__command draw_open(void) {
    struct call *call = (calloc)(1, sizeof *call);
    call->who = ++sim.opened;
    call->next = second.calls;
    second.calls = call;
    call->client = side_make(call->who, SIDE_CLIENT, call);
    call->client->handle = NEST_CLIENT;
    sim.live++;
    return draw_verb(NEST__COMMAND_OPEN, call->who);
}

static struct nest__command draw_drain(void) {
    uint32_t limit = nest__config.drain_timeout, now = nest__now();
    sim.stop_at = sim.draining ? nest__after(now, 0) : limit == 0 ? 0 : nest__after(now, limit);
    sim.draining = true;
    return draw_verb(NEST__COMMAND_DRAIN, 0);
}

static struct nest__command draw_fault(void) {
    struct nest__command command = draw_verb(NEST__COMMAND_FAIL, 0);
    command.fault = sim_chance(60)   ? NEST__FAULT_MEMORY
                    : sim_chance(50) ? NEST__FAULT_SCARCE
                    : sim_chance(50) ? NEST__FAULT_WATCH
                                     : NEST__FAULT_STACK;
    command.number = 1 + sim_random(12);
    return command;
}

static struct nest__command draw_command(void) {
    bool last = sim.opened >= sim.conversations || sim.draining;
    for (struct side *side = second.sides; side != NULL; side = side->next) {
        if (draw_is_due(side, last)) {
            return draw_ends(side);
        }
    }
    if (last && sim.live == 0 && second.sides == NULL) {
        return draw_verb(NEST__COMMAND_END, 0);
    }
    if (sim.opened + 5 >= sim.conversations && sim.seed % 2 == 0 && sim_chance(2) &&
        (!sim.draining || sim_chance(20))) {
        return draw_drain();
    }
    if (!last && sim.live < sim.most && (sim.live == 0 || sim_chance(15))) {
        return draw_open();
    }
    if (sim_chance(second.faults)) {
        return draw_fault();
    }
    if (second.sides_n == 0 || sim_chance(25)) {
        return draw_pass();
    }
    struct side *side = second.sides;
    for (uint32_t i = sim_random(second.sides_n); i > 0; i--) {
        side = side->next;
    }
    struct nest__command command = draw_of(side, last);
    return command.verb == NEST__COMMAND_NOTHING ? draw_pass() : command;
}

static struct nest__command draw_first(void) {
    struct nest__command command = draw_verb(NEST__COMMAND_CLIENTS, 0);
    command.number = sim.most;
    if (nest__command_number == 2) {
        command.verb = NEST__COMMAND_LINGER;
        command.cold = sim_chance(30);
    } else if (nest__command_number == 3) {
        command.verb = second.later ? NEST__COMMAND_COMPLETE : NEST__COMMAND_NOTHING;
        command.complete = NEST__COMPLETE_LATER;
    }
    return command;
}

/* While operations are under way no time passes, so that what is due is known. */
static struct nest__command draw_pending(void) {
    struct nest__command command = draw_verb(NEST__COMMAND_COMPLETE, 0);
    if (sim_chance(25)) {
        struct nest__command other = draw_command();
        if (other.verb != NEST__COMMAND_PASS && other.verb != NEST__COMMAND_END) {
            return other;
        }
    }
    for (struct call *call = second.calls; call != NULL; call = call->next) {
        call->stirred = nest__now();
    }
    command.complete = NEST__COMPLETE_ONE;
    command.number = sim_random(script_later_count());
    command.room = sim_chance(40) ? 1 + sim_random(DRAW(1, 20, 400)) : UINT64_MAX;
    return command;
}

static void draw_print(const struct nest__command *command) {
    printf("%5u ms: ", (unsigned)nest__now());
    print_command(command);
}

struct nest__command nest__command_read(void) {
    struct nest__command command;
    nest__command_number++;
    second.waits = 0;
    if (nest__command_number <= 3) {
        command = draw_first();
    } else {
        draw_look();
        if (nest__command_number > 20000 + sim.conversations * 4000) {
            sim_broken(NULL, "it does not come to an end");
        }
        command = script_later_count() > 0 ? draw_pending() : draw_command();
    }
    if (sim.verbose && command.verb != NEST__COMMAND_NOTHING) {
        draw_print(&command);
    }
    return command;
}
