/* lines.c: further channels: what an action does with them, what the other side of each must get.
 *
 * Called by acts.c, by talk.c for what a channel carries, and after each step. State: the lines
 * that are not closed. Both sides send bytes that are known from their position, so that each byte
 * that comes is checked. A line may outlive the conversation that has opened it: its output still
 * leaves.
 */
#include "simulate.h"

#include "../../engine/channels.h"

#include <errno.h>
#include <stdlib.h>

enum { LINES_ROOM = 500 };

static uint8_t line_byte(const struct sim_line *line, uint32_t at) {
    return (uint8_t)(line->who * 7 + at * 31 + (at >> 8));
}

static uint8_t line_said(const struct sim_line *line, uint64_t at) {
    return (uint8_t)(line->who * 13 + at * 17 + (at >> 8) + 5);
}

struct sim_line *line_find(uint32_t who) {
    struct sim_line *line = sim.lines;
    while (line != NULL && line->who != who) {
        line = line->next;
    }
    if (line == NULL) {
        sim_broken(NULL, "something comes of channel %u, which is closed", (unsigned)who);
    }
    return line;
}

static bool line_pardoned(const struct sim_line *line) {
    return line->faults != nest__faults_struck;
}

static uint64_t line_queued(const struct sim_line *line) {
    nest_session *s = nest__slot_at(line->slot);
    const struct nest__further *further = nest__further_next(s, line->number - 1);
    return further == NULL || further->chan.fd != (int32_t)line->who ? 0 : further->out.queue.n;
}

/* The other side has taken nothing for as long as it has time, or, `must`, for longer. Bytes in
 * flight may still have come after it was cut. */
static bool line_late(const struct sim_line *line, bool must) {
    bool flies = draw_is_later() && !must;
    uint32_t limits[SIM_LAWS], past = nest__now() - (flies ? line->filled : line->moved);
    unsigned count = reload_limits(SIM_LIMIT_WRITE, line->filled, limits);
    bool least = false, most = true;
    for (unsigned i = 0; i < count; i++) {
        least = least || (limits[i] != 0 && past >= limits[i]);
        most = most && limits[i] != 0 && past > limits[i];
    }
    bool waits = line->got < line->want || flies;
    return waits && (must ? most : least);
}

/* -- what the channel carries */

void line_out(struct sim_line *line, const uint8_t *bytes, size_t n) {
    if (line->reset || n > line->want - line->got || n > line->room) {
        sim_broken(line->talk, "line %u gets %zu bytes that it should not", (unsigned)line->who, n);
    }
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != line_said(line, line->got + i)) {
            sim_broken(line->talk, "line %u gets other bytes than were written",
                       (unsigned)line->who);
        }
    }
    line->room -= line->room == UINT64_MAX ? 0 : n;
    line->got += n;
    line->moved = nest__now();
}

void line_closed(struct sim_line *line, bool cut) {
    struct sim_line **at = &sim.lines;
    bool ended = line->talk == NULL || line->talk->over;
    if (!line->closing && !ended) {
        sim_broken(line->talk, "line %u is closed by nobody", (unsigned)line->who);
    }
    bool may_miss =
        line->dropped || line->reset || line->lost || nest__loop.cut || line_pardoned(line);
    if (!may_miss && line->got < line->want && !(cut && line_late(line, false))) {
        sim_broken(line->talk, "line %u is closed, and has not got what was written",
                   (unsigned)line->who);
    }
    if (cut && !line->dropped && !line->lost && !nest__loop.cut && !draw_is_later() &&
        line->got == line->want) {
        sim_broken(line->talk, "line %u is cut, and has got everything", (unsigned)line->who);
    }
    while (*at != line) {
        at = &(*at)->next;
    }
    *at = line->next;
    sim.lines_n--;
    bool others = line->talk != NULL;
    for (const struct sim_line *other = sim.lines; other != NULL; other = other->next) {
        others = others || (other->slot == line->slot && other->gen == line->gen);
    }
    if (!others) {
        newcomers_released();
    }
    if (line->talk != NULL && line->talk->line == line) {
        sim_broken(line->talk, "its action waits on line %u, which is closed", (unsigned)line->who);
    }
    (free)(line);
}

void lines_leave(struct sim_talk *talk) {
    bool left = false;
    for (struct sim_line *line = sim.lines; line != NULL; line = line->next) {
        if (line->talk == talk) {
            line->talk = NULL;
            left = true;
        }
    }
    if (!left) {
        newcomers_released();
    }
}

/* -- what actions do */

static unsigned lines_of(const struct sim_talk *talk, bool open, struct sim_line *found[32]) {
    unsigned count = 0;
    for (struct sim_line *line = sim.lines; line != NULL; line = line->next) {
        if (line->talk == talk && (!open || !line->closing) && count < 32) {
            found[count++] = line;
        }
    }
    return count;
}

static void lines_open(struct sim_talk *talk) {
    struct sim_line *all[32], *line = (calloc)(1, sizeof *line);
    unsigned count = lines_of(talk, false, all);
    int fd = script_dial();
    *line = (struct sim_line){.next = sim.lines,
                              .who = (uint32_t)fd,
                              .talk = talk,
                              .slot = talk->session->self.slot,
                              .gen = talk->gen,
                              .filled = nest__now(),
                              .faults = nest__faults_struck};
    line->room = sim_chance(10) ? sim_random(50) : UINT64_MAX;
    script_client((uint32_t)fd)->room = line->room;
    sim.lines = line;
    sim.lines_n++;
    int number = nest__channel_attach(talk->session, fd, NEST__SCRIPT);
    if (number > 0) {
        line->number = (unsigned)number;
        return;
    }
    if (talk->failed == 0 && (errno != EMFILE || count < NEST__FURTHER)) {
        sim_broken(talk, "a channel cannot be attached: %s, and there are %u", strerror(errno),
                   count);
    }
    const struct nest__chan chan = {.fd = fd, .kind = NEST__SCRIPT};
    line->closing = true;
    nest__chan_close(&chan);
}

/* Behind something that has failed: the line, or the session, must have a reason. False: the action
 * is to end. */
static bool lines_failed(struct sim_talk *talk, struct sim_line *line, const char *what) {
    int error = errno;
    if (nest__fails(talk->session, nest__acting(talk->session))) {
        acts_told(talk, what, true);
        return false;
    }
    bool right = line->lost || line_pardoned(line);
    if (error == ECONNRESET) {
        right = right || line->reset;
    } else if (error == ETIMEDOUT || error == ECANCELED) {
        right = right || line_late(line, false);
    } else {
        right = false;
    }
    if (!right || talk->failed != 0) {
        sim_broken(talk, "%s on line %u fails: %s", what, (unsigned)line->who, strerror(error));
    }
    line->lost = true;
    talk->wait = SIM_NO_WAIT;
    return true;
}

static void lines_ask(struct sim_talk *talk, struct sim_line *line, uint32_t ms, bool reads) {
    acts_ask(talk, SIM_FURTHER);
    talk->wait_ms = ms;
    talk->line = line;
    talk->line_reads = reads;
}

/* Whether an operation has succeeded. */
static bool lines_told(struct sim_talk *talk, struct sim_line *line, const char *what, bool fails) {
    talk->line = NULL;
    if (fails) {
        lines_failed(talk, line, what);
        return false;
    }
    if (line->lost) {
        sim_broken(talk, "%s succeeds on line %u, which is lost", what, (unsigned)line->who);
    }
    return acts_told(talk, what, false);
}

static void lines_write(struct sim_talk *talk, struct sim_line *line) {
    uint32_t n = sim_random(DRAW(10, 300, 3000, 40000)), most = 8 * nest__config.output_buffer;
    n = n < most ? n : most;          /* it takes as many waits */
    uint8_t *bytes = (malloc)(n + 1); /* others may write while this one waits */
    for (uint32_t i = 0; i < n; i++) {
        bytes[i] = line_said(line, line->want + i);
    }
    uint32_t filled = line->filled;
    if (line->got == line->want) {
        line->filled = line->moved = nest__now();
    }
    line->want += n;
    lines_ask(talk, line, 0, false);
    int result = nest__channel_write(talk->session, line->number, bytes, n);
    line->filled = result < 0 && errno == ECANCELED ? filled : line->filled; /* it was cut before */
    line->dropped = line->dropped || result < 0; /* of what was written, some was not queued */
    (void)lines_told(talk, line, "a write", result < 0);
    (free)(bytes);
}

static bool lines_flush(struct sim_talk *talk, struct sim_line *line) {
    lines_ask(talk, line, 0, false);
    if (!lines_told(talk, line, "a flush", nest__channel_flush(talk->session, line->number) < 0)) {
        return false;
    }
    if (line->got != line->want) {
        sim_broken(talk, "line %u is flushed, and has not got everything", (unsigned)line->who);
    }
    return true;
}

static void lines_read(struct sim_talk *talk, struct sim_line *line) {
    uint8_t bytes[LINES_ROOM];
    uint32_t room = 1 + sim_random(LINES_ROOM), ms = DRAW(0, 1, 20, 400, 400, 3000);
    if (!lines_flush(talk, line)) {
        return;
    }
    uint32_t from = nest__now();
    lines_ask(talk, line, ms, true);
    int64_t n = nest__channel_read(talk->session, line->number, bytes, room, ms);
    bool over = n < 0 && errno == ETIMEDOUT && ms != 0 && !line->lost &&
                nest__now() == nest__after(from, ms) &&
                !nest__fails(talk->session, nest__acting(talk->session));
    if (over) {
        talk->line = NULL;
        talk->wait = SIM_NO_WAIT;
        return;
    }
    if (!lines_told(talk, line, "a read", n < 0)) {
        return;
    }
    if (n > room || (n == 0 && (!line->eof || line->read < line->sent)) ||
        line->read + n > line->sent) {
        sim_broken(talk, "a read on line %u gives %d bytes", (unsigned)line->who, (int)n);
    }
    for (int64_t i = 0; i < n; i++) {
        if (bytes[i] != line_byte(line, line->read++)) {
            sim_broken(talk, "a read on line %u gives other bytes", (unsigned)line->who);
        }
    }
}

static void lines_pause(struct sim_talk *talk, struct sim_line *line) {
    uint32_t ms = DRAW(0, 1, 50, 700, 3000), from = nest__now();
    lines_ask(talk, line, ms, false);
    if (lines_told(talk, line, "a pause",
                   nest__channel_pause(talk->session, line->number, ms) < 0) &&
        nest__after(nest__now(), 0) != nest__after(from, ms)) { /* no deadline is at time 0 */
        sim_broken(talk, "a pause of %u ms on a line took %u", (unsigned)ms,
                   (unsigned)(nest__now() - from));
    }
}

static void lines_close(struct sim_talk *talk, struct sim_line *line) {
    bool cut = sim_chance(30);
    unsigned number = line->number;
    line->closing = true;
    line->dropped = cut;
    if (nest__channel_close(talk->session, number, cut) < 0 || /* which may have freed the line */
        nest__channel_close(talk->session, number, cut) == 0) {
        sim_broken(talk, "channel %u is not closed, or closed twice", number);
    }
}

void lines_act(struct sim_talk *talk) {
    struct sim_line *open[32];
    for (unsigned steps = sim.seed % 2 == 0 ? sim_random(6) : 0; steps > 0 && talk->failed == 0;
         steps--) {
        unsigned count = lines_of(talk, true, open);
        if (count == 0 || sim_chance(count < 3 ? 30 : 2)) {
            for (unsigned more = sim_chance(1) ? 20 : 1; more > 0; more--) {
                lines_open(talk);
            }
            continue;
        }
        struct sim_line *line = open[sim_random(count)];
        switch (sim_random(8)) {
        case 0:
        case 1:
            lines_write(talk, line);
            break;
        case 2:
        case 3:
            lines_read(talk, line);
            break;
        case 4:
            lines_pause(talk, line);
            break;
        case 5:
            (void)lines_flush(talk, line);
            break;
        case 6:
            acts_say_text(talk, "line\n");
            break;
        default:
            lines_close(talk, line);
            break;
        }
    }
}

/* -- what the other side does */

static struct sim_line *lines_any(void) {
    struct sim_line *line = sim.lines;
    for (uint32_t i = sim_random(sim.lines_n); i > 0; i--) {
        line = line->next;
    }
    return line;
}

struct nest__command lines_draw(bool last, uint32_t stall, uint32_t reset) {
    static uint8_t bytes[SIM_LINE_MOST];
    struct sim_line *line = lines_any();
    struct nest__command command = {.verb = NEST__COMMAND_PASS, .who = line->who};
    if (line->reset) {
        return command;
    }
    if (line->room != UINT64_MAX && sim_chance(last ? 90 : 30)) {
        command.verb = NEST__COMMAND_ROOM;
        line->room = last || sim_chance(50) ? UINT64_MAX : sim_random(DRAW(10, 100, 3000));
    } else if (!last && sim_chance(stall)) {
        command.verb = NEST__COMMAND_ROOM;
        line->room = sim_chance(50) ? 0 : sim_random(50);
    } else if (sim_chance(reset) && sim_chance(30)) {
        command.verb = NEST__COMMAND_RESET;
        line->reset = true;
    } else if (!line->eof && !last && line->sent < SIM_LINE_MOST && sim_chance(80)) {
        command.verb = NEST__COMMAND_IN;
        command.n = 1 + sim_random(DRAW(3, 50, 400));
        command.bytes = bytes;
        for (uint32_t i = 0; i < command.n; i++) {
            bytes[i] = line_byte(line, line->sent++);
        }
    } else if (!line->eof && sim_chance(last ? 100 : 10)) {
        command.verb = NEST__COMMAND_EOF;
        line->eof = true;
    }
    command.room = line->room;
    return command;
}

/* -- after each step */

static void line_check(struct sim_line *line) {
    const struct script_client *client = script_client(line->who);
    const struct sim_talk *talk = line->talk;
    uint64_t queued = line_queued(line);
    bool ended = talk == NULL || (talk->over && !talk->acting);
    if (queued > 0 && (line->room > 0 || line->reset)) {
        sim_broken(talk, "output of line %u does not leave", (unsigned)line->who);
    }
    if (queued > line->want - line->got) {
        sim_broken(talk, "line %u has more queued than was written", (unsigned)line->who);
    }
    if (queued > 0 && line_late(line, true)) {
        sim_broken(talk, "the other side of line %u takes nothing, and it is not cut",
                   (unsigned)line->who);
    }
    if ((line->closing || ended) && queued == 0) {
        sim_broken(talk, "line %u has nothing left to deliver, and is not closed",
                   (unsigned)line->who);
    }
    if (nest__loop.cut && ended) {
        sim_broken(talk, "drainTimeout is over, and line %u is not cut", (unsigned)line->who);
    }
    if (talk != NULL && talk->acting && talk->wait == SIM_FURTHER && talk->line == line) {
        bool came = client->n > 0 || client->eof;
        if ((talk->line_reads && came) || line->reset) {
            sim_broken(talk, "its action waits on line %u for what has come", (unsigned)line->who);
        }
    }
}

void lines_check(void) {
    struct sim_line *next;
    for (struct sim_line *line = sim.lines; line != NULL; line = next) {
        next = line->next;
        line_check(line);
    }
}

uint32_t lines_next(void) {
    uint32_t least = 0;
    for (const struct sim_line *line = sim.lines; line != NULL; line = line->next) {
        const struct nest__further *further =
            nest__further_next(nest__slot_at(line->slot), line->number - 1);
        uint32_t due = further == NULL ? 0 : further->until.deadline;
        bool ahead = due != 0 && (int32_t)(due - nest__now()) > 0;
        least = ahead && (least == 0 || (int32_t)(due - least) < 0) ? due : least;
    }
    return least;
}
