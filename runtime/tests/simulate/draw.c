/* draw.c: what clients do, drawn from a seed; in place of poller/command.c.
 *
 * Called by io for every command. State: this run's temper. After each
 * command everything has been done that it leads to, so this is where the server is looked at. */
#include "simulate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

unsigned nest__command_number;

static struct { /* of one run: per cent, unless said otherwise */
    uint32_t clients;
    uint32_t stall, reset, half_close, early_eof, pass, idle;
    uint32_t small_pieces, big, wrong, files, faults, helpers, reloads, shorts;
    bool drains, later, lingers, refers;
    uint32_t phase; /* of the end */
    uint64_t commands;
} draw;

/* The run's settings, before the server reads any. */
void draw_begin(void) {
    draw.clients = 1 + sim_random(10);
    draw.stall = DRAW(0, 0, 5, 20);
    draw.reset = DRAW(0, 1, 3);
    draw.half_close = DRAW(10, 50, 90);
    draw.early_eof = DRAW(0, 0, 2);
    draw.pass = DRAW(2, 10, 30);
    draw.idle = DRAW(0, 20, 60);
    draw.small_pieces = DRAW(0, 30, 80);
    draw.big = DRAW(0, 10, 40);
    draw.wrong = DRAW(0, 5, 10);
    draw.faults = DRAW(0, 0, 0, 0, 2);
    draw.helpers = DRAW(0, 0, 2, 5);
    draw.files = DRAW(0, 0, 10, 40);
    draw.reloads = DRAW(0, 0, 0, 1, 4);
    draw.shorts = DRAW(0, 0, 2, 5);
    draw.drains = sim_chance(50);
    draw.later = sim_chance(50);
    draw.lingers = sim_chance(30);
    draw.refers = sim_chance(40);
    sim.most = draw.clients;
    meet_begin();
    reload_begin();
}

bool draw_refers(void) {
    return draw.refers;
}

bool draw_warm(void) {
    return draw.files == 0;
}

/* A client's first output is limited, and it is about to open. */
static bool draw_opening(void) {
    return sim.talks != NULL && sim.talks->who == sim.opened && script_opened < sim.opened;
}

/* While an action runs, so that others have a turn coming when they are told. */
void draw_term(void) {
    if (draw.drains && sim.opened + 5 >= sim.conversations && !sim.draining && !draw_opening() &&
        sim_chance(1)) {
        uint32_t limit = nest__config.drain_timeout, now = nest__now();
        sim.stop_at = limit == 0 ? 0 : nest__after(now, limit);
        sim.draining = true;
        script_request(1);
    }
}

bool draw_is_later(void) {
    return draw.later;
}

/* -- messages */

struct draw_text {
    uint8_t bytes[SIM_IN];
    uint32_t n;
};

static void draw_add(struct draw_text *text, const char *what) {
    size_t n = strlen(what);
    memcpy(text->bytes + text->n, what, n);
    text->n += (uint32_t)n;
}

static void draw_letters(struct draw_text *text, uint32_t n, const char *of, uint32_t kinds) {
    for (uint32_t i = 0; i < n; i++) {
        text->bytes[text->n++] = (uint8_t)of[sim_random(kinds)];
    }
}

static void draw_number(struct draw_text *text, const char *word, uint32_t number) {
    char line[64];
    snprintf(line, sizeof line, "%s %u%s", word, (unsigned)number, sim_chance(50) ? "\r\n" : "\n");
    draw_add(text, line);
}

static const char draw_small[] = "abcdefghijklmnopqrstuvwxyz", draw_digits[] = "0123456789";

/* A line for nest_read_line(max), ended as acts.c expects; `broken`: longer than it takes. */
static void draw_line(struct draw_text *text, struct sim_message *message) {
    uint32_t most =
        message->number < nest__config.input_buffer ? message->number : nest__config.input_buffer;
    message->broken = sim_chance(15);
    draw_letters(text, message->broken ? most + 1 + sim_random(20) : sim_random(most + 1),
                 draw_small, 26);
    draw_add(text, message->number % 2 == 0 ? "\r\n" : "\n");
}

static void draw_parts(struct draw_text *text, struct sim_message *message) {
    message->parts[0] = (uint8_t)sim_random(6);
    message->parts[1] = (uint8_t)(1 + sim_random(3));
    message->parts[2] = (uint8_t)sim_random(4);
    draw_add(text, "PARTS ");
    draw_letters(text, message->parts[0], draw_small, 26);
    draw_letters(text, message->parts[1], draw_digits, 10);
    draw_letters(text, message->parts[2], draw_small, 26);
    draw_add(text, sim_chance(50) ? ".\r\n" : ".\n");
}

static void draw_say(struct draw_text *text) {
    uint32_t most = nest__config.input_buffer - 6;
    draw_add(text, "SAY ");
    draw_letters(text, sim_chance(10) ? most : sim_random(most < 30 ? most : 30), draw_small, 26);
    draw_add(text, "\n");
}

static uint32_t draw_size(void) {
    return sim_chance(draw.big) ? sim_random(9000) : sim_random(60);
}

static void draw_wrong(struct draw_text *text, struct sim_message *message) {
    if (sim_chance(50)) {
        message->rule = SIM_WRONG;
        uint32_t kind = sim_random(3);
        draw_add(text, kind == 0 ? "z" : kind == 1 ? "SA0" : "BIG 7x");
        message->head = text->n - message->at;
        draw_letters(text, sim_random(20), draw_small, 26);
    } else {
        message->rule = SIM_LONG;
        draw_add(text, "SAY ");
        draw_letters(text, nest__config.input_buffer + sim_random(30), draw_small, 26);
        message->head = nest__config.input_buffer;
    }
}

/* fa to fd; beyond: what is no file. */
static void draw_get(struct draw_text *text, struct sim_message *message) {
    static const char *const names[] = {"fa", "fb", "fc", "fd", "sub", "none"};
    message->name = sim_random(6);
    draw_add(text, "GET ");
    draw_add(text, names[message->name]);
    draw_add(text, "\n");
}

static void draw_put(struct draw_text *text, struct sim_message *message) {
    char line[64];
    message->name = sim_random(4);
    message->number = 6 + draw_size();
    if (sim_chance(5)) { /* worth sending past the queue */
        message->number += 41000 + sim_random(30000);
    }
    snprintf(line, sizeof line, "PUT f%c %u\n", 'a' + (int)message->name,
             (unsigned)message->number);
    draw_add(text, line);
}

/* One message behind `text`: what the rule takes, and behind that what its action takes. */
static void draw_message(struct draw_text *text, struct sim_message *message) {
    static const uint8_t kinds[] = {SIM_SAY,   SIM_SAY,  SIM_SAY,   SIM_BIG,  SIM_FLOOD,
                                    SIM_READ,  SIM_READ, SIM_LINE,  SIM_INTO, SIM_SKIP,
                                    SIM_NAP,   SIM_KEEP, SIM_IDLE,  SIM_MODE, SIM_DATA,
                                    SIM_PARTS, SIM_PEEK, SIM_BLOCK, SIM_QUIT, SIM_STUCK};
    char line[64];
    *message = (struct sim_message){.at = text->n};
    if (sim_chance(draw.wrong)) {
        draw_wrong(text, message);
        return;
    }
    message->rule = kinds[sim_random(sizeof kinds - (sim_chance(80) ? 2 : 0))];
    if (sim_chance(draw.files)) {
        message->rule = sim_chance(60) ? SIM_GET : SIM_PUT;
    }
    message->rule = meet_draws() ? SIM_MEET : message->rule;
    message->number = draw_size();
    switch (message->rule) {
    case SIM_SAY:
        draw_say(text);
        break;
    case SIM_BIG:
        message->number = sim_chance(draw.big) ? sim_random(30000) : sim_random(300);
        if (sim_chance(25) && nest__config.output_buffer < 30000) {
            message->number = nest__config.output_buffer; /* the queue is exactly full */
        }
        draw_number(text, "BIG", message->number);
        break;
    case SIM_FLOOD:
        message->number = sim_random(20);
        draw_number(text, "FLOOD", message->number);
        break;
    case SIM_READ:
        message->number = sim_random(nest__config.input_buffer + 1);
        message->number += sim_chance(3) ? nest__config.input_buffer : 0;
        draw_number(text, "READ", message->number);
        break;
    case SIM_LINE:
        message->number = 1 + sim_random(80);
        draw_number(text, "LINE", message->number);
        break;
    case SIM_INTO:
        draw_number(text, "INTO", message->number);
        break;
    case SIM_SKIP:
        draw_number(text, "SKIP", message->number);
        break;
    case SIM_NAP:
        message->number = DRAW(0, 1, 10, 100, 700, 3000);
        draw_number(text, "NAP", message->number);
        break;
    case SIM_KEEP:
        message->number = sim_random(120);
        draw_number(text, "KEEP", message->number);
        break;
    case SIM_IDLE:
        message->number = DRAW(0, 10, 200, 5000);
        draw_number(text, "IDLE", message->number);
        break;
    case SIM_MODE:
        message->number = sim_random(4);
        draw_number(text, "MODE", message->number);
        break;
    case SIM_DATA:
        draw_add(text, "DATA\n");
        draw_letters(text, sim_random(40), "ab\n", 3);
        draw_add(text, "c\n.\n");
        break;
    case SIM_PARTS:
        draw_parts(text, message);
        break;
    case SIM_PEEK:
        draw_add(text, "PEEK\n");
        break;
    case SIM_BLOCK:
        draw_add(text, "BLOCK\n");
        break;
    case SIM_GET:
        draw_get(text, message);
        break;
    case SIM_PUT:
        draw_put(text, message);
        break;
    case SIM_MEET:
        meet_draw(line, message);
        draw_add(text, line);
        break;
    case SIM_QUIT:
        draw_add(text, "QUIT\n");
        break;
    default:
        draw_add(text, "STUCK\r\n");
        break;
    }
    message->head = text->n - message->at;
    if (message->rule == SIM_PUT) {
        message->version = file_new_version(message->name, message->number);
        for (uint32_t i = 0; i < message->number; i++) {
            text->bytes[text->n++] = file_byte(message->version, i);
        }
    } else if (message->rule == SIM_LINE) {
        draw_line(text, message);
    } else if (message->rule == SIM_INTO || message->rule == SIM_SKIP ||
               (message->rule == SIM_READ && message->number <= nest__config.input_buffer)) {
        draw_letters(text, message->number, draw_small, 26);
    }
    message->body = text->n - message->at - message->head;
    /* Behind a body it might be received by itself, and be a message. */
    if (NEST__MESSAGES && message->body == 0 && sim_chance(30)) {
        draw_letters(text, 1 + sim_random(30), draw_small, 26);
        message->tail = text->n - message->at - message->head - message->body;
    }
}

static struct sim_talk *draw_talk(void) {
    static struct draw_text text;
    struct sim_talk *talk = (calloc)(1, sizeof *talk);
    uint32_t count = sim_random(SIM_MESSAGES + 1);
    talk->who = ++sim.opened;
    talk->room = UINT64_MAX;
    talk->faults = nest__faults_struck;
    text.n = 0;
    while (talk->count < count && text.n < SIM_IN / 4) {
        struct sim_message *message = &talk->messages[talk->count++];
        draw_message(&text, message);
        if (message->rule >= SIM_WRONG || (message->rule == SIM_QUIT && sim_chance(50))) {
            break; /* what stands behind is refused, or never read */
        }
    }
    talk->in_n = text.n;
    talk->in = (malloc)(text.n + 1);
    memcpy(talk->in, text.bytes, text.n);
    talk->next = sim.talks;
    sim.talks = talk;
    sim.live++;
    return talk;
}

/* -- commands */

static struct nest__command draw_verb(enum nest__verb verb, uint32_t who) {
    return (struct nest__command){.verb = verb, .who = who, .room = UINT64_MAX};
}

static struct nest__command draw_room(struct sim_talk *talk, uint64_t room) {
    struct nest__command command = draw_verb(NEST__COMMAND_ROOM, talk->who);
    command.room = talk->room = room;
    return command;
}

static struct nest__command draw_reset(struct sim_talk *talk) {
    talk->received = talk_received(talk);
    talk->reset = true;
    return draw_verb(NEST__COMMAND_RESET, talk->who);
}

static struct nest__command draw_eof(struct sim_talk *talk) {
    talk->eof = true;
    return draw_verb(NEST__COMMAND_EOF, talk->who);
}

/* Framing message: the message that is being sent; NULL: behind the last. */
static const struct sim_message *draw_sending(const struct sim_talk *talk) {
    const struct sim_message *message = NULL;
    for (uint32_t i = 0; i < talk->count && talk->messages[i].at <= talk->sent; i++) {
        message = &talk->messages[i];
    }
    return message;
}

/* At most a message; who has its end has its tail, which is dropped when its action ends. */
static uint32_t draw_packet(const struct sim_talk *talk, uint32_t n) {
    const struct sim_message *message = draw_sending(talk);
    uint32_t end = message->at + message->head + message->body;
    bool whole = message->rule >= SIM_WRONG || talk->sent + n >= end;
    return whole ? end + message->tail - talk->sent : n;
}

/* The server has read what came before; a new message finds it at a read point, or what it takes
 * from one receive would be more than one message. */
static bool draw_may_send(const struct sim_talk *talk) {
    const nest_session *s = talk->session;
    if (!NEST__MESSAGES) {
        return true;
    }
    if (s == NULL || talk->out || talk->received != talk->sent || talk->astray) {
        return false;
    }
    return !talk->acting || (talk->sent > draw_sending(talk)->at &&
                             (talk->wait == SIM_BYTE || talk->wait == SIM_MESSAGE));
}

static struct nest__command draw_send(struct sim_talk *talk) {
    struct nest__command command = draw_verb(NEST__COMMAND_IN, talk->who);
    uint32_t left = talk->in_n - talk->sent, n = left;
    if (sim_chance(draw.small_pieces)) {
        n = 1 + sim_random(12);
    } else if (sim_chance(50)) {
        n = 1 + sim_random(left < 400 ? left : 400);
    }
    n = n < left ? n : left;
    n = NEST__MESSAGES ? draw_packet(talk, n) : n;
    command.bytes = talk->in + talk->sent;
    command.n = n;
    talk->sent += n;
    talk->calm = sim_chance(draw.idle / 4) ? 8 : 0;
    return command;
}

/* Up to the next moment at which something may happen, or less. */
static struct nest__command draw_pass(void) {
    struct nest__command command = draw_verb(NEST__COMMAND_PASS, 0);
    uint32_t now = nest__now(), least = 0, most = 1000;
    for (struct sim_talk *talk = sim.talks; talk != NULL; talk = talk->next) {
        uint32_t next = moment_next(talk);
        least = least == 0 || (next != 0 && (int32_t)(next - least) < 0) ? next : least;
    }
    uint32_t others[] = {script_job_next(), nest__loop.due[NEST__DUE_STOP], newcomers_next(),
                         lines_next()};
    for (unsigned i = 0; i < 4; i++) {
        bool ahead = others[i] != 0 && (int32_t)(others[i] - now) > 0;
        least = ahead && (least == 0 || (int32_t)(others[i] - least) < 0) ? others[i] : least;
    }
    if (least != 0) {
        most = least - now;
    }
    command.number = sim_chance(60) ? most : sim_chance(30) ? most - 1 : sim_random(most + 1);
    return command;
}

static struct nest__command draw_open(void) {
    static struct sim_talk *opening; /* its client takes little from the beginning */
    struct sim_talk *talk = opening;
    if (talk == NULL) {
        talk = draw_talk();
        if (sim_chance(draw.stall)) {
            opening = talk;
            return draw_room(talk, sim_random(8));
        }
    }
    opening = NULL;
    return draw_verb(NEST__COMMAND_OPEN, talk->who);
}

static struct nest__command draw_of_talk(struct sim_talk *talk, bool last) {
    if (talk->room == 0 || (talk->room != UINT64_MAX && sim_chance(20))) {
        if (sim_chance(last ? 90 : 30)) {
            return draw_room(talk,
                             sim_chance(50) || last ? UINT64_MAX : sim_random(DRAW(10, 100, 3000)));
        }
    } else if (sim_chance(draw.stall) && !last) {
        return draw_room(talk, sim_chance(50) ? 0 : sim_random(50));
    }
    if (talk->calm > 0 && !last) {
        talk->calm--;
        return draw_pass();
    }
    if (sim_chance(draw.reset) && sim_chance(20)) {
        return draw_reset(talk);
    }
    if (talk->sent < talk->in_n && !talk->eof) {
        bool never = !draw_may_send(talk) && sim_chance(5); /* else perhaps nobody ever moves */
        if (never || (sim_chance(draw.early_eof) && sim_chance(20))) {
            return draw_eof(talk);
        }
        return (sim_chance(draw.idle) && !last) || !draw_may_send(talk) ? draw_pass()
                                                                        : draw_send(talk);
    }
    if (!talk->eof && sim_chance(last ? 100 : draw.half_close)) {
        return draw_eof(talk);
    }
    if (last && talk->room != UINT64_MAX) {
        return draw_room(talk, UINT64_MAX);
    }
    return last && sim_chance(1) ? draw_reset(talk) : draw_pass();
}

static struct nest__command draw_fault(void) {
    struct nest__command command = draw_verb(NEST__COMMAND_FAIL, 0);
    command.fault = draw.files > 0 && sim_chance(60) ? NEST__FAULT_FILE
                    : sim_chance(60)                 ? NEST__FAULT_MEMORY
                    : sim_chance(50)                 ? NEST__FAULT_SCARCE
                    : sim_chance(50)                 ? NEST__FAULT_WATCH
                                                     : NEST__FAULT_STACK;
    command.error = sim_chance(50) ? EIO : ENOSPC;
    command.number = 1 + sim_random(12);
    return command;
}

static struct nest__command draw_drain(void) {
    uint32_t limit = nest__config.drain_timeout, now = nest__now();
    sim.stop_at = sim.draining ? nest__after(now, 0) : limit == 0 ? 0 : nest__after(now, limit);
    if (!sim.draining && sim_chance(10)) { /* two at once: the second is heard behind the first */
        script_request(1);
        sim.stop_at = nest__after(now, 0);
    }
    sim.draining = true;
    return draw_verb(NEST__COMMAND_DRAIN, 0);
}

static struct nest__command draw_short(void) {
    struct nest__command command = draw_verb(NEST__COMMAND_SHORT, 0);
    command.error = script_short != 0 ? 0 : (int)DRAW(EMFILE, ENFILE, ENOMEM, ENOBUFS);
    return command;
}

static struct nest__command draw_command(void) {
    bool all = sim.opened >= sim.conversations || sim.draining;
    bool last =
        all && sim.live == 0; /* lines may outlive conversations, and end before the script */
    if (draw_opening()) {
        return draw_open();
    }
    if (sim.lines != NULL && (last || sim_chance(30))) {
        struct nest__command command = lines_draw(all, draw.stall, draw.reset);
        return command.verb == NEST__COMMAND_PASS ? draw_pass() : command;
    }
    if (last) {
        return draw_verb(NEST__COMMAND_END, 0);
    }
    if (draw.drains && sim.opened + 5 >= sim.conversations && sim_chance(2)) {
        if (!sim.draining || sim_chance(20)) {
            return draw_drain();
        }
    }
    if (!all && sim.live < draw.clients + 2 && (sim.live == 0 || sim_chance(15))) {
        return draw_open();
    }
    if (sim_chance(draw.faults)) {
        return draw_fault();
    }
    if (sim_chance(draw.shorts)) {
        return draw_short();
    }
    if (sim_chance(draw.reloads)) {
        reload_draw();
        return draw_verb(NEST__COMMAND_RELOAD, 0);
    }
    if (sim_chance(draw.helpers)) {
        struct nest__command command = draw_verb(NEST__COMMAND_HELPERS, 0);
        command.number = DRAW(0, 0, 1, 30, 500, 500, 3000, NEST__NO_HELPERS);
        return command;
    }
    if (draw.files > 0 && sim_chance(1)) {
        struct nest__command command = draw_verb(NEST__COMMAND_DISK, 0);
        command.cold = sim_chance(50);
        return command;
    }
    if (meet_elsewhere()) {
        return draw_verb(NEST__COMMAND_NOTHING, 0);
    }
    if (sim_chance(draw.pass) || sim.live == 0) {
        return draw_pass();
    }
    struct sim_talk *talk = sim.talks;
    for (uint32_t i = sim_random(sim.live); i > 0; i--) {
        talk = talk->next;
    }
    return talk->reset ? draw_pass() : draw_of_talk(talk, all);
}

/* The first commands: what this life is like. */
static struct nest__command draw_first(void) {
    struct nest__command command = draw_verb(NEST__COMMAND_CLIENTS, 0);
    if (nest__command_number == 2) {
        command.verb = NEST__COMMAND_LINGER;
        command.cold = draw.lingers;
    } else if (nest__command_number == 3) {
        command.verb = draw.later ? NEST__COMMAND_COMPLETE : NEST__COMMAND_NOTHING;
        command.complete = NEST__COMPLETE_LATER;
    }
    command.number = draw.clients;
    return command;
}

/* While operations are under way: one of them completes, or something else happens; but no time
 * passes, so that what is due is known. */
static struct nest__command draw_pending(void) {
    struct nest__command command = draw_verb(NEST__COMMAND_COMPLETE, 0);
    if (!NEST__MESSAGES && sim_chance(25)) {
        struct nest__command other = draw_command();
        if (other.verb != NEST__COMMAND_PASS && other.verb != NEST__COMMAND_END) {
            return other;
        }
    }
    command.complete = NEST__COMPLETE_ONE;
    command.number = sim_random(script_later_count());
    command.room = sim_chance(40) ? 1 + sim_random(DRAW(1, 20, 400)) : UINT64_MAX;
    return command;
}

static void draw_look(void) {
    reload_check();
    record_check_all();
    if (script_later_count() > 0) {
        return; /* what follows from the last command is not yet done */
    }
    for (struct sim_talk *talk = sim.talks; talk != NULL; talk = talk->next) {
        moment_step(talk);
    }
    lines_check();
    post_check();
    newcomers_check();
    newcomers_refused();
    if (sim.stop_at != 0 && !nest__loop.cut && nest__reached(sim.stop_at, nest__now())) {
        sim_broken(sim.talks, "drainTimeout is over, and nobody is cut");
    }
}

struct nest__command nest__command_read(void) {
    struct nest__command command;
    nest__command_number++;
    if (nest__command_number <= 3) {
        command = draw_first();
    } else {
        draw_look();
        if (++draw.commands > 2000 + (uint64_t)sim.conversations * 4000) {
            sim_broken(sim.talks, "it does not come to an end");
        }
        command = script_later_count() > 0 ? draw_pending() : draw_command();
    }
    if (sim.verbose) {
        print_command(&command);
    }
    return command;
}
