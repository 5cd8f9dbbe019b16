/* acts.c: the actions of the simulated server, each checked where it stands.
 *
 * Called by the engine. State: in the conversations. Every directive is asked through here: what it
 * gives must be what the client has sent, why it fails must be true, and after one has failed all
 * that could wait must fail as well. */
#include "simulate.h"

#include <errno.h>
#include <stdlib.h>

const size_t nest__spec_vars_size = 64;
const bool nest__has_start = true;
const bool nest__has_overload = false;
const char *const nest__state_names[] = {"START", "DEFAULT", "TICK", "LATE", "DEAD"};
const unsigned nest__state_count = 5;
enum { ACTS_TICK = 2, ACTS_LATE, ACTS_DEAD };

const struct nest__timer nest__timers[] = {
    {"line 1", "simulate", 1, 700},
    {"line 2", "simulate", 2, 300},
    {"line 3", "simulate", 3, 700},
};
_Static_assert(sizeof nest__timers / sizeof nest__timers[0] == NEST__TIMERS, "NEST__TIMERS");

int nest__spec_timer(uint64_t states, unsigned last) {
    (void)last;
    return (states >> ACTS_LATE & 1) != 0 ? 1 : (states >> ACTS_TICK & 1) != 0 ? 0 : -1;
}

bool nest__spec_active(uint64_t states, unsigned last, struct nest__active *active) {
    (void)last;
    active->bits[0] = (states >> ACTS_DEAD & 1) == 0;
    return active->bits[0] != 0;
}

unsigned nest__spec_standalone(const struct nest__active *active, uint16_t *rules) {
    unsigned n = active->bits[0] != 0 ? NEST__RULES : 0;
    for (uint16_t rule = 0; rule < n; rule++) {
        rules[rule] = rule;
    }
    return n;
}

void nest__spec_vars_init(nest_session *s, void *vars) {
    *(uint32_t *)vars = (uint32_t)s->c0.fd;
}

#include "spec.c"

/* -- why something fails */

static void acts_failed(struct sim_talk *talk, const char *what) {
    int error = errno;
    bool right = false;
    switch (error) {
    case ECONNRESET:
        right = talk->reset || sim_pardoned(talk);
        break;
    case ENOMEM:
        right = sim_pardoned(talk);
        break;
    case ECANCELED:
        right = nest__loop.cut || sim_pardoned(talk) || talk->failed != 0 || talk->over ||
                talk->end == NEST_CLOSED;
        break;
    case ETIMEDOUT:
        right = talk->failed == 0;
        if (right) {
            moment_wait_timeout(talk);
        }
        break;
    default:
        break;
    }
    if (!right) {
        sim_broken(talk, "%s fails: %s", what, strerror(error));
    }
    if (talk->failed == 0 && !talk->over && talk->end != NEST_CLOSED) {
        talk->failed = error;
        talk->end = error == ETIMEDOUT   ? NEST_TIMEOUT
                    : error == ECANCELED ? NEST_SHUTDOWN
                                         : NEST_GONE;
    } else if (talk->failed == 0) {
        talk->failed = error;
    }
}

/* Before a directive that may wait; `kind`: for what. */
void acts_ask(struct sim_talk *talk, enum sim_wait kind) {
    talk->wait = kind;
    talk->wait_from = nest__now();
    if (!talk->acting) {
        sim_broken(talk, "an action goes on that has ended");
    }
}

/* And behind it: whether it has failed. errno stays. */
bool acts_told(struct sim_talk *talk, const char *what, bool fails) {
    nest_session *s = talk->session;
    int error = errno;
    if (nest__acting(s) == NULL || s->self.gen != talk->gen || s->phase != NEST__ACTING) {
        sim_broken(talk, "%s comes back to another action", what);
    }
    if (!fails && talk->failed != 0) {
        sim_broken(talk, "%s succeeds after another has failed", what);
    }
    errno = error;
    if (fails) {
        acts_failed(talk, what);
    }
    talk->wait = SIM_NO_WAIT;
    return !fails;
}

/* -- directives */

static bool acts_say(struct sim_talk *talk, const void *bytes, size_t n) {
    if (talk->failed == 0) {
        talk_want(talk, bytes, n);
    }
    acts_ask(talk, SIM_REPLY);
    bool ok = acts_told(talk, "nest_reply", nest_reply_bytes(talk->session, bytes, n) != 0);
    if (ok) {
        talk->said = talk->want_n;
    }
    return ok;
}

bool acts_say_text(struct sim_talk *talk, const char *text) {
    return acts_say(talk, text, strlen(text));
}

bool acts_say_number(struct sim_talk *talk, const char *what, long number) {
    char text[64];
    int n = snprintf(text, sizeof text, "%s %ld\n", what, number);
    return acts_say(talk, text, (size_t)n);
}

/* What was taken of the body must be what was sent. */
void acts_took(struct sim_talk *talk, const void *bytes, uint32_t n, const char *what) {
    if (talk->taken + n > talk_received(talk) ||
        (bytes != NULL && memcmp(bytes, talk->in + talk->taken, n) != 0)) {
        sim_broken(talk, "%s gives %u bytes that are not those sent", what, (unsigned)n);
    }
    talk->taken += n;
    talk->took += n;
}

/* The client's end of file comes before the body's end. */
static bool acts_short(const struct sim_talk *talk, uint32_t need) {
    return talk->eof && talk->sent - talk->taken < need;
}

static void acts_read(struct sim_talk *talk, const struct sim_message *message) {
    acts_ask(talk, SIM_MESSAGE);
    errno = 0;
    char *text = nest_read(talk->session, message->number);
    bool too_big = message->number > nest__config.input_buffer && talk->failed == 0;
    if (too_big) {
        if (text != NULL || errno != EMSGSIZE) {
            sim_broken(talk, "nest_read of more than inputBuffer");
        }
        acts_told(talk, "nest_read", false);
        return;
    }
    if (!acts_told(talk, "nest_read", text == NULL && errno != 0)) {
        return;
    }
    if (text == NULL) {
        if (!acts_short(talk, message->number)) {
            sim_broken(talk, "nest_read says end of file");
        }
        talk->astray = true;
        acts_say_text(talk, "eof\n");
        return;
    }
    if (text[message->number] != '\0') {
        sim_broken(talk, "nest_read: no NUL behind");
    }
    acts_took(talk, text, message->number, "nest_read");
    acts_say(talk, text, message->number < 20 ? message->number : 20);
}

static void acts_line(struct sim_talk *talk, const struct sim_message *message) {
    acts_ask(talk, SIM_MESSAGE);
    errno = 0;
    char *text = nest_read_line(talk->session, message->number);
    int error = errno;
    if (text == NULL && error == EMSGSIZE && talk->failed == 0) {
        acts_told(talk, "nest_read_line", false);
        if (!message->broken) {
            sim_broken(talk, "nest_read_line finds no line, and there is one");
        }
        acts_ask(talk, SIM_BYTE);
        long skipped = nest_skip(talk->session, message->body);
        if (acts_told(talk, "nest_skip", skipped < 0)) {
            acts_took(talk, NULL, (uint32_t)skipped, "nest_skip");
            acts_say_number(talk, "no line", skipped);
        }
        return;
    }
    if (!acts_told(talk, "nest_read_line", text == NULL && error != 0)) {
        return;
    }
    if (text == NULL) {
        if (!acts_short(talk, message->body)) {
            sim_broken(talk, "nest_read_line says end of file");
        }
        talk->astray = true;
        return;
    }
    uint32_t end = message->number % 2 == 0 ? 2 : 1; /* as draw.c ends lines */
    if (message->broken || strlen(text) + end != message->body) {
        sim_broken(talk, "nest_read_line gives another line");
    }
    acts_took(talk, text, message->body - end, "nest_read_line");
    acts_took(talk, NULL, end, "nest_read_line");
    acts_say_number(talk, "line", (long)strlen(text));
}

static void acts_into(struct sim_talk *talk, const struct sim_message *message) {
    uint8_t bytes[9000]; /* on the stack that waits */
    acts_ask(talk, SIM_BYTE);
    long n = nest_read_into(talk->session, bytes, message->number);
    if (!acts_told(talk, "nest_read_into", n < 0)) {
        return;
    }
    if ((uint32_t)n != message->number && !acts_short(talk, message->number)) {
        sim_broken(talk, "nest_read_into gives %ld of %u", n, (unsigned)message->number);
    }
    acts_took(talk, bytes, (uint32_t)n, "nest_read_into");
    acts_say_number(talk, "into", n);
}

static void acts_skip(struct sim_talk *talk, const struct sim_message *message) {
    acts_ask(talk, SIM_BYTE);
    long n = nest_skip(talk->session, message->number);
    if (!acts_told(talk, "nest_skip", n < 0)) {
        return;
    }
    if ((uint32_t)n != message->number && !acts_short(talk, message->number)) {
        sim_broken(talk, "nest_skip skips %ld of %u", n, (unsigned)message->number);
    }
    acts_took(talk, NULL, (uint32_t)n, "nest_skip");
    acts_say_number(talk, "skipped", n);
}

static void acts_nap(struct sim_talk *talk, uint32_t ms) {
    uint32_t from = nest__now();
    acts_ask(talk, SIM_PAUSE);
    talk->wait_ms = ms;
    if (acts_told(talk, "nest_sleep", nest_sleep(talk->session, ms) != 0) && ms != 0 &&
        nest__after(nest__now(), 0) != nest__after(from, ms)) {
        sim_broken(talk, "a pause of %u ms took %u", (unsigned)ms, (unsigned)(nest__now() - from));
    }
}

static void acts_keep(struct sim_talk *talk, uint32_t n) {
    uint8_t *p = nest_keep(talk->session, n);
    uint32_t counts = n < 32 ? 32 : n;
    bool fits = talk->kept + counts <= nest__config.keep_limit;
    if (p == NULL && fits && !sim_pardoned(talk)) {
        sim_broken(talk, "nest_keep has no %u bytes", (unsigned)n);
    }
    if (p != NULL && !fits) {
        sim_broken(talk, "nest_keep gives more than keepLimit");
    }
    for (uint32_t i = 0; p != NULL && i < n; i++) {
        if (p[i] != 0) {
            sim_broken(talk, "nest_keep gives memory that is not zero");
        }
        p[i] = 0xee;
    }
    talk->kept += p == NULL ? 0 : counts;
    acts_say_text(talk, p == NULL ? "no\n" : "kept\n");
}

static void acts_mode(struct sim_talk *talk, uint32_t mode) {
    talk->mode_tick = (mode & 1) != 0;
    talk->mode_late = (mode & 2) != 0;
    nest_clear(talk->session, ACTS_TICK);
    nest_clear(talk->session, ACTS_LATE);
    if (talk->mode_tick) {
        nest_seen(talk->session, ACTS_TICK);
    }
    if (talk->mode_late) {
        nest_seen(talk->session, ACTS_LATE);
    }
    acts_say_number(talk, "mode", (long)mode);
}

/* The states of one that has begun elsewhere. */
uint64_t acts_restored(struct sim_talk *talk) {
    talk->starts = 1;
    talk->mode_tick = sim_chance(30);
    return 3 | (uint64_t)talk->mode_tick << ACTS_TICK;
}

static void acts_parts(struct sim_talk *talk, const struct sim_message *message) {
    const uint8_t *p = talk->in + message->at + 6;
    for (unsigned i = 0; i < 3; i++) {
        nest_bytes part = nest_part_bytes(talk->session, i + 2);
        if (part.n != message->parts[i] || memcmp(part.p, p, part.n) != 0) {
            sim_broken(talk, "part %u has %zu bytes", i + 2, part.n);
        }
        p += part.n;
    }
    acts_say_text(talk, "parts\n");
    /* In place again, after what may have been a wait: the message has moved, its parts have not.
     */
    if (nest_length(talk->session, 2) != message->parts[0] ||
        memcmp(nest_bytes_at(talk->session, 2), talk->in + message->at + 6, message->parts[0]) !=
            0) {
        sim_broken(talk, "a part is another one after a wait");
    }
}

/* The private copy of a part, asked for late. */
static uint32_t acts_number(struct sim_talk *talk, const struct sim_message *message) {
    char *text = nest_part(talk->session, 2);
    if (strtoul(text, NULL, 10) != message->number && !sim_pardoned(talk)) {
        sim_broken(talk, "part 2 is \"%s\"", text);
    }
    return message->number;
}

static void acts_big(struct sim_talk *talk, uint32_t n) {
    uint8_t *bytes = (malloc)(n + 1);
    for (uint32_t i = 0; i < n; i++) {
        bytes[i] = (uint8_t)('A' + (i + talk->who) % 53);
    }
    acts_say(talk, bytes, n);
    (free)(bytes);
}

static void acts_flood(struct sim_talk *talk, const struct sim_message *message) {
    for (uint32_t i = 0; i < message->number; i++) {
        char text[64];
        int n = snprintf(text, sizeof text, "%u of %u\n", (unsigned)i, (unsigned)message->number);
        if (talk->failed == 0) {
            talk_want(talk, text, (size_t)n);
        }
        acts_ask(talk, SIM_REPLY);
        if (!acts_told(talk, "nest_replyf",
                       nest_replyf(talk->session, "%u of %s\n", (unsigned)i,
                                   nest_part(talk->session, 2)) != 0) &&
            i > 2) {
            break;
        }
        talk->said = talk->failed == 0 ? talk->want_n : talk->said;
    }
}

static void acts_released(void *arg) {
    free(arg);
}

/* Output that is not copied: memory that is given back by a release, and a range of a file. */
static void acts_refer(struct sim_talk *talk) {
    nest_session *s = talk->session;
    uint32_t n = 1 + sim_random(300), at = sim_random(SIM_FILE / 2);
    bool file = draw_warm() && sim_chance(50);
    if (talk->failed != 0 || !draw_refers() || !sim_chance(40) || nest__fails(s, nest__acting(s)) ||
        nest__borrow(s) == NULL || s->work->out.queue.n + n > nest__config.output_buffer) {
        return;
    }
    uint8_t *bytes = malloc(n); /* counted: it must be released once */
    if (bytes == NULL) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        bytes[i] = file ? file_fixed(at + i) : (uint8_t)('a' + i % 26);
    }
    size_t want = talk->want_n;
    talk_want(talk, bytes, n);
    int error =
        file ? nest__queue_file(&s->work->out.queue, file_fixed_fd(), at, n, acts_released, bytes)
             : nest__queue_refer(&s->work->out.queue, bytes, n, acts_released, bytes);
    if (error < 0) {
        talk->want_n = want;
        free(bytes);
    } else {
        talk->said = talk->want_n;
    }
}

static void acts_peek(struct sim_talk *talk) {
    bool pending = nest_pending(talk->session);
    if (pending != (talk->sent > talk->taken) && talk->failed == 0 && !talk->reset) {
        sim_broken(talk, "nest_pending says %d", pending);
    }
    acts_say_text(talk, "peek\n");
    acts_refer(talk);
    acts_ask(talk, SIM_REPLY);
    acts_told(talk, "nest_flush", nest_flush(talk->session) != 0);
    if (talk->room > 0 && talk->failed == 0 && !script_later &&
        nest__out_queued(talk->session, &talk->session->c0) > 0 && talk->room == UINT64_MAX) {
        sim_broken(talk, "nest_flush leaves output behind");
    }
}

static void acts_block(struct sim_talk *talk) {
    acts_ask(talk, SIM_WORK);
    errno = EDOM;
    nest_block_begin(talk->session);
    bool same = errno == EDOM && nest_length(talk->session, 1) == 5 &&
                memcmp(nest_part(talk->session, 1), "BLOCK", 5) == 0;
    errno = ERANGE;
    nest_block_end(talk->session);
    if ((!same && !sim_pardoned(talk)) || errno != ERANGE) {
        sim_broken(talk, "in a block things are not what they were");
    }
    talk->wait = SIM_NO_WAIT;
    acts_say_text(talk, "block\n");
}

static void acts_rule(struct sim_talk *talk, const struct sim_message *message) {
    switch (message->rule) {
    case SIM_SAY:
        acts_say(talk, nest_bytes_at(talk->session, 2), nest_length(talk->session, 2));
        acts_say_text(talk, "\n");
        break;
    case SIM_BIG:
        acts_big(talk, acts_number(talk, message));
        break;
    case SIM_FLOOD:
        acts_flood(talk, message);
        break;
    case SIM_READ:
        acts_read(talk, message);
        acts_number(talk, message); /* after the wait */
        break;
    case SIM_LINE:
        acts_line(talk, message);
        break;
    case SIM_INTO:
        acts_into(talk, message);
        acts_number(talk, message);
        break;
    case SIM_SKIP:
        acts_skip(talk, message);
        break;
    case SIM_NAP:
        acts_nap(talk, acts_number(talk, message));
        acts_say_text(talk, "awake\n");
        break;
    case SIM_KEEP:
        acts_keep(talk, message->number);
        break;
    case SIM_IDLE:
        nest_timeout(talk->session, message->number);
        talk->idle_own = true;
        talk->idle = message->number;
        acts_say_text(talk, "idle\n");
        break;
    case SIM_MODE:
        acts_mode(talk, message->number);
        break;
    case SIM_QUIT:
        nest_close(talk->session);
        talk->end = NEST_CLOSED;
        acts_say_text(talk, "quit\n");
        break;
    case SIM_STUCK:
        nest_seen(talk->session, ACTS_DEAD);
        talk->dead = talk->mode_tick || talk->mode_late; /* a TIMEOUT rule is active all the same */
        talk->end = talk->dead ? NEST_OPEN : NEST_STUCK;
        break;
    case SIM_PARTS:
        acts_parts(talk, message);
        break;
    case SIM_PEEK:
        acts_peek(talk);
        break;
    case SIM_BLOCK:
        acts_block(talk);
        break;
    case SIM_GET:
        files_get(talk, message);
        break;
    case SIM_PUT:
        files_put(talk, message);
        break;
    case SIM_MEET:
        meet_act(talk, message);
        break;
    default:
        acts_say_text(talk, "ok\n");
        break;
    }
}

/* After one directive has failed every other must fail, at once. */
static void acts_after_failure(struct sim_talk *talk) {
    char byte;
    uint32_t now = nest__now();
    acts_say_text(talk, "nobody gets this\n");
    acts_ask(talk, SIM_BYTE);
    acts_told(talk, "nest_read_into", nest_read_into(talk->session, &byte, 1) < 0);
    acts_nap(talk, 1);
    if (nest__now() != now) {
        sim_broken(talk, "time has passed in an action that was cut short");
    }
}

static void acts_timer(struct sim_talk *talk, int timer) {
    if (timer == 1) {
        talk->end = NEST_CLOSED;
        nest_close(talk->session);
        acts_say_text(talk, "late\n");
    } else {
        if (talk->who % 3 == 0) {
            acts_nap(talk, 200);
        }
        acts_say_text(talk, "tick\n");
    }
}

void nest__spec_act(nest_session *s, void *vars, int rule, const struct nest_message *message) {
    (void)message;
    struct sim_talk *talk = talk_of(s);
    post_settle();
    if (talk->acting || talk->over || talk->session != s) {
        sim_broken(talk, "an action begins while another runs, or after END");
    }
    if (*(uint32_t *)vars != talk->who) {
        sim_broken(talk, "it is given the variables of another");
    }
    if ((rule == NEST__ACT_START) != (talk->starts == 0)) {
        sim_broken(talk, "action %d out of its order", rule);
    }
    talk->acting = true;
    talk->took = 0;
    if (sim_chance(3)) {
        nest__loop_spend(NEST__VISIT_OUT +
                         1); /* as if it had moved much: others have a turn first */
    }
    draw_term();
    uint32_t begun = nest__now();
    if (rule == NEST__ACT_START) {
        talk->starts++;
        acts_say_text(talk, "hello\n");
        meet_start(talk);
    } else if (rule == NEST__ACT_END) {
        talk->ends++;
        talk_ending(talk, s);
        talk->failed = 0;
        acts_say_text(talk, "bye\n");
        meet_end(talk);
        errno = 0;
        if (nest_read(s, 1) != NULL || (errno != ECANCELED && errno != ECONNRESET)) {
            sim_broken(talk, "nest_read in END does not fail at once");
        }
        talk->failed = 0;
    } else {
        talk->failed = 0;
        if (rule >= 0) {
            acts_rule(talk, &talk->messages[talk->at - 1]);
        } else {
            acts_timer(talk, NEST__ACT_TIMER - rule);
        }
        lines_act(talk);
        if (talk->failed != 0) {
            acts_after_failure(talk);
        }
    }
    if (NEST__MESSAGES && rule >= 0) {
        talk->taken = talk_received(talk); /* what the match and the action left is dropped */
    }
    if (rule <= NEST__ACT_TIMER && talk->unfinished) {
        talk->since += nest__now() - begun; /* nothing was read meanwhile */
    }
    talk->acting = false;
    talk->wait = SIM_NO_WAIT;
    talk->point = nest__now();
}
