/* driver.c: conversations with a matcher and its actions, without sessions and io; and proof that
 * no byte is looked at twice.
 *
 * Included behind what nest has made of a specification, and the engine's matcher (unit.py). On
 * standard input: `open`, or `open bytes` if the matcher shall get one byte at a time, then a line
 * of hexadecimal digits for each piece, `eof` for the end of file. For each of these a line of
 * output: hexadecimal digits of what is answered, and behind a blank how many bytes the matcher has
 * been given since the last line.
 *
 * While a piece is matched, the bytes before it cannot be read: either they are in pages without
 * access, or the bytes after the piece are, and those before it have been overwritten. A matcher that
 * reads a byte again crashes or gives another result. Only this file here knows the engine. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { DRIVER_PAGE = 4096, DRIVER_PAGES = 4, DRIVER_MOST = DRIVER_PAGE * DRIVER_PAGES };

struct nest__config nest__config;
static struct {
    uint64_t states;
    unsigned last;
    uint8_t bytes[DRIVER_MOST]; /* all that came */
    uint32_t from, n;           /* the message begins there; how many came */
    bool matching, ended, slow;
    enum nest_reason reason;
    uint64_t given; /* bytes, to the matcher */
    char out[1 << 20];
    size_t out_n;
    uint8_t *window; /* pages without access, pages with, pages without */
    unsigned turn;
    struct nest__match match;
    struct nest__scratch scratch;
    struct nest__action action;
    char *copies[NEST__PARTS + 1];
} driver;
static nest_session driver_session; /* actions hand it on, nobody looks into it */

static void driver_fail(const char *why) {
    printf("%s\n", why);
    exit(1);
}

void nest__unforeseen(void) { /* platform/platform.h */
    driver_fail("rules are active that the compiler took for impossible");
    abort();
}

/* -- what actions call (nest.h) */

int nest_reply_bytes(nest_session *s, const void *bytes, size_t n) {
    (void)s;
    if (n > sizeof driver.out - driver.out_n) {
        driver_fail("too long an answer");
    }
    memcpy(driver.out + driver.out_n, bytes, n);
    driver.out_n += n;
    return 0;
}

int nest_reply(nest_session *s, const char *text) {
    return nest_reply_bytes(s, text, strlen(text));
}

int nest_replyf(nest_session *s, const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return nest_reply_bytes(s, text, (size_t)n);
}

int nest_reply_list(nest_session *s, size_t count, const nest_bytes list[]) {
    for (size_t i = 0; i < count; i++) {
        nest_reply_bytes(s, list[i].p, list[i].n);
    }
    return 0;
}

void nest_seen(nest_session *s, unsigned state) {
    (void)s;
    driver.states |= UINT64_C(1) << state;
    driver.last = state;
}

void nest_clear_all(nest_session *s) {
    (void)s;
    driver.states &= UINT64_C(1) << NEST__START_STATE;
}

enum nest_reason nest_reason(nest_session *s) {
    (void)s;
    return driver.reason;
}

static nest_bytes driver_part(unsigned n) {
    struct nest__action *action = &driver.action;
    return n == 0 ? (nest_bytes){action->message.p, action->message.n}
                  : nest__part(action, &driver.scratch, n);
}

size_t nest_length(nest_session *s, unsigned n) {
    (void)s;
    return driver_part(n).n;
}

const char *nest_bytes_at(nest_session *s, unsigned n) {
    (void)s;
    return driver_part(n).p;
}

char *nest_part(nest_session *s, unsigned n) {
    nest_bytes part = driver_part(n);
    (void)s;
    if (driver.copies[n] == NULL) {
        driver.copies[n] = calloc(1, part.n + 1);
        memcpy(driver.copies[n], part.p, part.n);
    }
    return driver.copies[n];
}

nest_bytes nest_part_bytes(nest_session *s, unsigned n) {
    return driver.copies[n] != NULL ? (nest_bytes){driver.copies[n], nest_length(s, n)}
                                    : driver_part(n);
}

/* -- what the engine does for a message */

static void driver_act(int rule, const uint8_t *p, uint32_t n) {
    struct nest__action *action = &driver.action;
    const struct nest__run *run = &driver.match.run;
    action->rule = rule;
    action->message = (struct nest_message){p, n, action->tags};
    action->parsed = false;
    if (rule >= 0) {
        memcpy(action->tags, run->tags, sizeof action->tags);
    }
    nest__spec_act(&driver_session, NULL, rule, &action->message);
    for (unsigned i = 0; i <= NEST__PARTS; i++) {
        free(driver.copies[i]);
        driver.copies[i] = NULL;
    }
}

static void driver_end(enum nest_reason reason) {
    driver.ended = true;
    driver.reason = reason;
    driver_act(NEST__ACT_END, NULL, 0);
    nest_reply(&driver_session, "<closed>");
}

/* A read point: false if the conversation has ended. */
static bool driver_begin(void) {
    struct nest__active active;
    if (!nest__spec_active(driver.states, driver.last, &active)) {
        driver_end(NEST_STUCK);
        return false;
    }
    driver.match.fed = 0;
    driver.matching = true;
    return true;
}

/* The matcher, with nothing but what is new to be read. */
static enum nest__verdict driver_match(uint32_t n, bool eof) {
    struct nest__match *match = &driver.match;
    const uint8_t *message = driver.bytes + driver.from;
    uint32_t before = match->fed, fresh = n - before;
    uint8_t *first = driver.window + DRIVER_MOST, *limit = first + DRIVER_MOST;
    uint8_t *at;
    if (driver.turn++ % 2 == 0) {
        at = first;
        memset(at + fresh, 0x5a, DRIVER_MOST - fresh);
    } else {
        at = limit - fresh;
        for (uint32_t i = 0; i < before; i++) {
            at[(int64_t)i - before] = (uint8_t)~message[i];
        }
    }
    memcpy(at, message + before, fresh);
    enum nest__verdict verdict =
        nest__match_feed(match, &driver.scratch, driver.states, driver.last, at - before, n, eof);
    if (match->fed < before) {
        driver_fail("the matcher began anew");
    }
    driver.given += match->fed - before;
    return verdict;
}

static void driver_go_on(bool eof) {
    while (!driver.ended) {
        if (!driver.matching && !driver_begin()) {
            return;
        }
        uint32_t unread = driver.n - driver.from, n = unread;
        if (driver.slow && driver.match.fed + 1 < n) {
            n = driver.match.fed + 1;
        }
        switch (driver_match(n, eof && n == unread)) {
        case NEST__UNDECIDED:
            if (n == unread) {
                return;
            }
            continue;
        case NEST__OVERFLOWED:
        case NEST__EXCEEDED: /* only of rules that libpcre2 matches: there are none here */
            driver_end(NEST_OVERFLOW);
            return;
        case NEST__NO_MATCH:
            driver_end(unread > 0 ? NEST_INPUT : NEST_EOF);
            return;
        case NEST__DECIDED:
            break;
        }
        const uint8_t *message = driver.bytes + driver.from;
        driver.matching = false;
        driver.from = NEST__MESSAGES ? driver.n : driver.from + driver.match.run.best_n;
        driver_act(driver.match.run.best, message, driver.match.run.best_n);
    }
}

static void driver_open(bool slow) {
    driver.states = UINT64_C(1) << NEST__START_STATE;
    driver.last = NEST_NO_STATE;
    driver.from = driver.n = 0;
    driver.matching = driver.ended = false;
    driver.slow = slow;
    driver_act(NEST__ACT_START, NULL, 0);
}

static void driver_receive(const char *digits) {
    unsigned byte;
    for (; sscanf(digits, "%2x", &byte) == 1; digits += 2) {
        if (driver.n == DRIVER_MOST) {
            driver_fail("too long a conversation");
        }
        driver.bytes[driver.n++] = (uint8_t)byte;
    }
}

int main(int argc, char **argv) {
    static char line[2 * DRIVER_MOST + 2];
    nest__config.input_buffer = argc == 2 ? (uint32_t)atoi(argv[1]) : 0;
    driver.window = mmap(NULL, 3 * DRIVER_MOST, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (nest__config.input_buffer == 0 || driver.window == MAP_FAILED ||
        mprotect(driver.window + DRIVER_MOST, DRIVER_MOST, PROT_READ | PROT_WRITE) == -1) {
        driver_fail("usage: driver INPUTBUFFER");
    }
    while (fgets(line, sizeof line, stdin) != NULL) {
        driver.out_n = 0;
        driver.given = 0;
        bool eof = strcmp(line, "eof\n") == 0;
        if (line[0] == 'o') {
            driver_open(strcmp(line, "open bytes\n") == 0);
        } else if (!eof) {
            driver_receive(line);
        }
        driver_go_on(eof);
        for (size_t i = 0; i < driver.out_n; i++) {
            printf("%02x", (unsigned char)driver.out[i]);
        }
        printf(" %llu\n", (unsigned long long)driver.given);
        fflush(stdout);
    }
    return 0;
}
