/* log.c: counts what lines about a client say, and has them written in time.
 *
 * Called at join points. State: declared below. Must not know formats, where lines go, nor which
 * model runs it. */
#include "log.h"
#include "../../platform/platform.h"
#include "../proxied/proxied.h"
#include "record.h"

enum { LOGGING_PEER = 64 };

struct logging_entry {
    uint64_t in, out, since;  /* bytes that rules and directives consumed; in replies; us */
    uint64_t before, replied; /* `in` and `out` when the request began, */
    uint64_t began;           /* and the time, us; 0: it is not known */
    const char *name;         /* of the rule whose action runs; NULL: none */
    uint32_t messages;
    bool asked;              /* a request has begun since the last line */
    char peer[LOGGING_PEER]; /* "": not asked yet */
};

/* scope: process; a slab with one entry per slot, allocated at first use. */
static _Atomic(void *) logging_slab;

int nest__log_prepare(void) {
    nest__sink_direct_prepare();
    if (nest__config.logging == NEST__LOG_CONNECTIONS &&
        (nest__config.log_format == NEST__LOG_COMMON ||
         nest__config.log_format == NEST__LOG_COMBINED)) {
        nest__say("nothing is logged about clients: logFormat common and combined have lines for "
                  "requests, but logging is connections");
    }
    return 0;
}

/* NULL: no memory for the slab. */
static struct logging_entry *logging_entry(const nest_session *s) {
    struct logging_entry *slab = nest__slab(&logging_slab, sizeof *slab);
    return slab == NULL ? NULL : &slab[s->self.slot];
}

static bool logging_connections(void) {
    return nest__config.logging >= NEST__LOG_CONNECTIONS;
}

static bool logging_requests(void) {
    return NEST__LOG_REQUESTS && nest__config.logging >= NEST__LOG_REQUESTS_TOO;
}

void nest__log_open(nest_session *s) {
    struct logging_entry *entry = logging_entry(s);
    if (entry != NULL) {
        entry->in = entry->out = entry->before = entry->replied = entry->began = 0;
        entry->messages = 0;
        entry->asked = false;
        entry->name = NULL;
        entry->since = nest__clock_us();
        entry->peer[0] = '\0';
        if (logging_connections()) {
            nest__client_text(s, entry->peer, sizeof entry->peer);
        }
    }
}

/* Whether a line for a request says how long it took: two looks at the clock. */
static bool logging_times(void) {
    return logging_requests() && nest__record_times();
}

static void logging_message(nest_session *s, const char *name, size_t n) {
    struct logging_entry *entry = logging_entry(s);
    if (entry != NULL) {
        entry->name = name;
        if (!entry->asked) {
            entry->asked = true;
            entry->began = logging_times() ? nest__clock_us() : 0;
            entry->before = entry->in;
            entry->replied = entry->out;
        }
        entry->in += n;
    }
}

void nest__log_take(nest_session *s, const struct nest__rule *rule, const void *bytes, size_t n) {
    struct logging_entry *entry = logging_entry(s);
    (void)bytes;
    logging_message(s, rule->name, n);
    if (entry != NULL) {
        entry->messages++;
    }
}

void nest__log_timer(nest_session *s, const struct nest__timer *timer) {
    logging_message(s, timer->name, 0);
}

void nest__log_replied(nest_session *s, size_t items, uint64_t n) {
    struct logging_entry *entry = logging_entry(s);
    (void)items;
    if (entry != NULL) {
        entry->out += n;
    }
}

void nest__log_file(nest_session *s, int fd, uint64_t at, uint64_t n) {
    (void)fd, (void)at;
    nest__log_replied(s, 1, n);
}

static void logging_write(const nest_session *s, struct logging_entry *entry,
                          struct nest__record *record) {
    char text[NEST__SINK_RECORD];
    if (entry->peer[0] == '\0') {
        nest__client_text(s, entry->peer, sizeof entry->peer);
    }
    record->session = s;
    record->peer = entry->peer;
    size_t n = nest__record_format(record, text);
    if (n > 0) {
        nest__sink_put(text, n);
    }
}

/* Where the specification marks requests, an action of START, END or a TIMEOUT rule may end one. */
static bool logging_is_request(const nest_session *s, const struct logging_entry *entry) {
    return NEST__LOG_MARKS ? nest__fields_request(s) : entry->name != NULL;
}

void nest__log_acted(nest_session *s, uint64_t taken) {
    struct logging_entry *entry = logging_entry(s);
    if (entry == NULL) {
        return;
    }
    entry->in += taken;
    if (logging_is_request(s, entry)) {
        if (logging_requests()) {
            struct nest__record record = {
                .rule = entry->name != NULL ? entry->name : "-",
                .in = entry->in - entry->before,
                .out = entry->out - entry->replied,
                .us = entry->began == 0 ? 0 : nest__clock_us() - entry->began,
            };
            logging_write(s, entry, &record);
        }
        nest__fields_clear(s);
        entry->asked = false;
        entry->began = 0;
        entry->before = entry->in; /* an action of END has no message */
        entry->replied = entry->out;
    } else if (!NEST__LOG_MARKS) {
        entry->asked = false;
    }
    entry->name = NULL;
}

void nest__log_end(nest_session *s) {
    struct logging_entry *entry = logging_entry(s);
    if (entry == NULL || !logging_connections()) {
        return;
    }
    struct nest__record record = {
        .reason = nest__reason_word((enum nest_reason)s->reason),
        .messages = entry->messages,
        .in = entry->in,
        .out = entry->out,
        .us = nest__clock_us() - entry->since,
    };
    logging_write(s, entry, &record);
}

size_t nest__log_outside(const struct nest__outside *request, char to[NEST__SINK_RECORD]) {
    const struct nest__record record = {
        .rule = request->rule, .peer = request->peer, .outside = request, .out = request->out};
    return logging_requests() ? nest__record_format(&record, to) : 0;
}

struct nest__need nest__log_need(void) {
    return (struct nest__need){"its address and counts, for the log", NULL,
                               sizeof(struct logging_entry), 0};
}
