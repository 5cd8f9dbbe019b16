/* seam.h: the contract between the parts of the runtime: the types and functions that most parts
 * share. An interface that only few parts use is in a header of the part that supplies it, such as
 * loop/loop.h. The options are in settings.h.
 *
 * Part            supplies                                    calls mainly
 * generated       nest__spec_*, tables                        nest.h (actions only)
 * engine/         "engine" below, nest.h                      the I/O side, channels,
 *                                                             nest__worker, nest__vars
 * channel/        channel.h, queue.h, pool.h                  platform
 * loop/           nest__wait, nest__stopping                  engine, pollers, channels, fiber.h,
 *                                                             listener, workers: stop.h
 * poller/         poller.h, nest__push, nest__now             loop, nest__out_*, channels, listener
 * blocking/       the same, instead of loop/ and poller/      engine, channels, workers
 * workers/        "workers" below                             engine, loop, listener, platform
 * listener/       listeners.h                                 platform, some services
 * file/           file.h, upload.h                            platform, service/cache
 * fiber/          fiber.h                                     libc
 * config/         config.h, settings.h                        platform
 * service/NAME/   NAME.h: what join points (nest__on_*) call  the running action (engine.h), files,
 *                                                             listener, platform
 * "The I/O side" means loop/ and poller/, or blocking/: whichever moves a session's bytes. The
 * exact list of calls is runtime/tests/layers.txt, which `make layers` checks.
 *
 * A server contains one model, so all calls are direct. server.c includes the selected files and is
 * one translation unit. No file here includes another .c file. embed.rs fixes the order: seam.h,
 * the services' headers and the join points, then the parts. points.rs describes the join points.
 */
#ifndef NEST_SEAM_H
#define NEST_SEAM_H

#ifndef _GNU_SOURCE /* accept4, signalfd; before the first system header of the unit */
#define _GNU_SOURCE 1
#endif

#include "listener/listeners.h"
#include "nest.h"
#include "settings.h"

#include <stdatomic.h>

/* -- sizes that the generated part defines before it includes this file --------------------------
 * NEST__RULES        number of pattern rules (>= 1; if there are none: 1, which is never active)
 * NEST__CONDITIONS   number of different conditions of rules (>= 1)
 * NEST__STANDALONE   number of rules that are matched standalone, outside the product automata
 * NEST__EARLY        number of these that are early (NOW). If a group of rules that may be active
 *                    together has a standalone rule, all of its early rules are standalone
 * NEST__TAGS         largest number of tags (ends of elements) of a rule (>= 1)
 * NEST__REGISTERS    largest number of registers of an automaton (>= 1)
 * NEST__PARTS        largest number of elements of a rule (>= 1)
 * NEST__THREAD_WORDS uint16_t words of NFA threads that a session may have to keep (>= 1)
 * NEST__NFA_STATES   largest number of NFA states of a rule (>= 1)
 * NEST__TIMERS       number of TIMEOUT rules
 * NEST__PIPES        1 with option inetd, where a connection may be a pair of pipes; otherwise 0
 * NEST__TLS          1 with option tls, where channels may be encrypted; otherwise 0
 * NEST__DECODES      number of functions that received bytes pass (%decode)
 * NEST__ENCODES      number of functions that sent bytes pass (%encode)
 * NEST__SPLICES      1 if $relay may move bytes through pipes of the kernel; otherwise 0
 * NEST__FALLBACK     1 if epoll serves where io_uring cannot be used; otherwise 0
 * NEST__RETURNS      1 if the filter persist gets connections back; otherwise 0
 * NEST__POLLED       1 if a ring receives nothing ahead from clients: connections go back, or the
 *                    kernel takes requests out of them; otherwise 0
 * NEST__PROCESSORS   1 with option processors, where actions leave the loop's thread; otherwise 0
 * NEST__HAS_END      1 if there is an END rule; otherwise 0
 * NEST__MESSAGES     1 if `framing` is message; 0 if it is stream
 * NEST__LOG_REQUESTS 1 if messages can have log lines; otherwise 0
 * NEST__LOG_MARKS    1 if only actions that call nest_log_request have such lines; otherwise 0
 * NEST__LOSSY        1 if a session that does not keep up with messages loses the oldest;
 *                    otherwise 0
 * NEST__CLASSES      number of classes of clients; defined only with option priorities
 * NEST__BACKTRACKING number of rules that libpcre2 matches; tests may leave it undefined */

/* -- generated: matcher tables (docs/architecture.md, "Matching") ---------------------------- */
/* The next state is next[state * class_count + classes[byte]]. A state is live if more bytes can
 * lead to a match. State 0 is dead. State 1 accepts and is not live. States 2 to first_silent - 1
 * accept and are live. The others are live only. */
struct nest__dfa {
    const uint8_t *classes;
    const uint16_t *next;
    uint16_t class_count, start, first_silent, count;
};
enum nest__op { NEST__BYTE, NEST__SPLIT, NEST__MARK, NEST__MATCH };
struct nest__nfa_state {
    uint8_t op;
    uint8_t part;  /* MARK: the element (0-based) that ends here */
    uint16_t set;  /* BYTE: index into sets; SPLIT: number of targets */
    uint32_t next; /* BYTE, MARK: target; SPLIT: first index into targets, in order of preference */
};
struct nest__nfa {
    const struct nest__nfa_state *states;
    const uint16_t *targets;
    const uint64_t (*sets)[4]; /* bit b of set: word b >> 6, bit b & 63 */
    uint16_t count, start;
};
/* A position in a message: `by` bytes after a mark, modulo 2^32. */
enum { NEST__MARK_START, NEST__MARK_END, NEST__MARK_TAG, NEST__MARK_NONE = 0xffff };
struct nest__cut {
    uint16_t mark; /* NEST__MARK_TAG + i: tag i; NONE: the position must be computed */
    uint32_t by;
};
struct nest__rule {
    const char *name; /* its NAME, or "line N" */
    const char *file;
    uint32_t line;
    uint16_t parts;   /* elements */
    uint32_t threads; /* without dfa: first word of its NFA threads in nest__match.threads */
    const struct nest__cut *cuts; /* part n lies from [n - 1] to [n]; NULL: none is known */
    /* Of a standalone rule. NULL: its table would be too large, so its NFA is simulated. */
    const struct nest__dfa *dfa;
    const struct nest__nfa *nfa; /* for unknown cuts and for simulation; NULL if not needed */
    const struct nest__backtracking *backtracking; /* NULL: automata match the rule */
    bool early; /* decides as soon as it accepts; its dfa is not live there */
};
extern const struct nest__rule nest__rules[]; /* [NEST__RULES] */
/* The standalone rules that are live after a given first byte: bit rule % 64 of word
 * byte * words + rule / 64, where words = (NEST__RULES + 63) / 64. The bit of a rule without a dfa
 * is always set. */
extern const uint64_t nest__first[]; /* [256 * words]; absent without standalone rules */
/* A repeated element of a rule, for service/items. The NFA has a mark behind each repetition.
 * Splits and marks lead only to states with higher numbers. */
struct nest__repeated {
    uint16_t rule;
    uint16_t part; /* from 1 */
    const struct nest__nfa *nfa;
};
extern const struct nest__repeated nest__repeated[];
extern const unsigned nest__repeated_count;
extern const char *const nest__state_names[]; /* [0] START, [1] DEFAULT, then as declared */
extern const unsigned nest__state_count;
extern const char nest__spec_name[];    /* "echo" */
extern const char nest__spec_file[];    /* "echo.nest" */
extern const char nest__model_name[];   /* "event" */
extern const char nest__tool_version[]; /* the compiler's: "nest 0.1.0" */
extern const bool nest__has_start;
extern const bool nest__has_overload; /* an OVERLOAD rule */
enum { NEST__START_STATE, NEST__DEFAULT_STATE };

/* TIMEOUT(d) rules, in the order of the specification. */
struct nest__timer {
    const char *name; /* "line N" */
    const char *file;
    uint32_t line;
    uint32_t after; /* ms, 1 to NEST__LONGEST */
};
extern const struct nest__timer nest__timers[];
/* The number of the active TIMEOUT rule that fires first: the one with the shortest time; among
 * equal times, the first written. -1: none is active. */
int nest__spec_timer(uint64_t states, unsigned last);

/* One bit for each condition of pattern rules: whether it holds. */
enum { NEST__ACTIVE_WORDS = (NEST__CONDITIONS + 63) / 64 };
struct nest__active {
    uint64_t bits[NEST__ACTIVE_WORDS];
};
/* Computes the bits. Returns whether any condition holds. */
bool nest__spec_active(uint64_t states, unsigned last, struct nest__active *);
/* Stores the numbers of the active standalone rules in ascending order. Returns how many. */
unsigned nest__spec_standalone(const struct nest__active *, uint16_t *rules);

/* The progress of a product automaton through a message. The rules of two product automata are
 * never active together. Standalone rules may be active together with either. */
struct nest__run {
    uint16_t automaton; /* the one that waits for more bytes */
    uint16_t state;     /* of this automaton; 0: no rule of it is live */
    uint32_t best;      /* the rule with the longest match so far */
    uint32_t best_n;    /* the length of this match in bytes */
    struct nest__active active;
    uint32_t tags[NEST__TAGS]; /* of best: positions in the message */
    uint32_t registers[NEST__REGISTERS];
};
/* The result of nest__spec_run. It is returned in registers, so that the start of the next message
 * does not depend on a load from memory. */
struct nest__step {
    uint64_t state;  /* 0: no rule is live */
    uint64_t best_n; /* 0: no rule has accepted */
};
/* Runs the automaton over the bytes [p, end), at least one, of the message that began at `start`.
 * If p == start, it begins a match: the states select the automaton, and `active` is set where an
 * automaton or standalone rules depend on it. If rules are still live at `end`, it sets `automaton`
 * and `registers`, so that a later call continues there. The caller stores the result in the run.
 */
struct nest__step nest__spec_run(struct nest__run *, uint64_t states, unsigned last,
                                 const uint8_t *start, const uint8_t *p, const uint8_t *end);
/* -- generated: actions.c */
extern const size_t nest__spec_vars_size;              /* 0: no per-connection variables */
void nest__spec_vars_init(nest_session *, void *vars); /* vars is zeroed */
enum {
    NEST__ACT_START = -1,
    NEST__ACT_END = -2,
    NEST__ACT_OVERLOAD = -3,
    NEST__ACT_TIMER = -4,      /* TIMEOUT rule i is NEST__ACT_TIMER - i */
    NEST__ACT_NONE = -0x7fffff /* nest__current_rule: no action runs */
};
/* Runs an action. `rule` is the number of a pattern rule, or one of the above, which have no
 * message. */
void nest__spec_act(nest_session *, void *vars, int rule, const struct nest_message *);
int nest__spec_startup(int argc, char **argv); /* < 0: continue; otherwise the exit status */

/* -- sessions -------------------------------------------------------------------------------- */
/* The name of a session. Other code may keep this name, but not a pointer to the session: the
 * generation changes when the slot is used again. */
typedef struct nest__ref {
    uint32_t slot, gen;
} nest__ref;

enum nest__address_kind { NEST__TCP4, NEST__TCP6, NEST__UNIX, NEST__SCRIPT, NEST__PIPE };

struct nest__chan { /* what a session sends and receives through; each session embeds channel 0 */
    int32_t fd;     /* in a script: the conversation's number */
    uint8_t kind;   /* enum nest__address_kind */
    uint8_t state;  /* NEST__CHAN_* */
    uint8_t io;     /* used by the poller only (epoll: the armed events) */
    uint8_t awaits; /* enum nest__await; used in loops only */
};
/* What a channel of a loop waits for; see poller/poller.h. */
enum nest__await {
    NEST__AWAIT_NOTHING,
    NEST__AWAIT_INPUT,
    NEST__AWAIT_OUTPUT, /* until queued output can be sent */
    NEST__AWAIT_ERRORS, /* only for a reset or another error */
    NEST__AWAIT_BOTH,   /* input, and until queued output can be sent */
    NEST__AWAIT_READY,  /* until the descriptor has input, which the poller does not receive */
    /* As INPUT and BOTH, but the poller leaves input to the caller, as with READY, unless it has
     * received some before: then the channel awaits INPUT or BOTH. */
    NEST__AWAIT_LEFT,
    NEST__AWAIT_LEFT_BOTH
};
/* The state of a channel. */
enum {
    NEST__CHAN_EOF = 1,   /* the other side sends no more */
    NEST__CHAN_GONE = 2,  /* reset, or another error */
    NEST__CHAN_MORE = 4,  /* nothing was received yet, or the last receive filled its buffer */
    NEST__CHAN_SENT = 8,  /* one send has happened since the last receive */
    NEST__CHAN_LATE = 16, /* more than one send since then: new input may have arrived meanwhile */
    NEST__CHAN_CUT = 32,  /* set by the engine: deliver nothing more; reset instead of closing */
    /* Set by the engine: a file follows what is pushed now, so it need not be sent at once. */
    NEST__CHAN_AHEAD = 64,
    NEST__CHAN_MINDS = 128 /* set by the engine: where errors are awaited, end of input is one */
};

extern int nest__pipe_out; /* channel/pipe.c: the descriptor for output of a NEST__PIPE channel */

/* The I/O side calls this after a receive. `full`: the receive filled its buffer. */
static inline void nest__chan_received(struct nest__chan *chan, bool full) {
    chan->state &= NEST__CHAN_EOF | NEST__CHAN_GONE | NEST__CHAN_CUT | NEST__CHAN_MINDS;
    chan->state |= full ? NEST__CHAN_MORE : 0;
}

/* The I/O side calls this after a send. */
static inline void nest__chan_sent(struct nest__chan *chan) {
    chan->state |= (chan->state & NEST__CHAN_SENT) != 0 ? NEST__CHAN_LATE : NEST__CHAN_SENT;
}

enum nest__phase {
    NEST__FREE,    /* the record is unused */
    NEST__READING, /* at a read point */
    NEST__ACTING,  /* an action runs or waits */
    NEST__ENDED,   /* END has run and the reason is counted; output may still be queued */
    NEST__LEAVING, /* the channel is being closed; released when its last operation completes */
    NEST__SHAKING, /* a handshake comes first: the session has not been opened */
    NEST__HEADED   /* the header of a proxy comes first; no service knows of the session yet */
};
/* The flags of a session. */
enum {
    NEST__CLOSING = 1 /* the action called $close */,
    NEST__CUT = 2 /* a wait of this action was cut short */,
    NEST__WAITING = 4 /* a loop's action waits */,
    NEST__READY = 8 /* in the ready list */,
    NEST__STOPPING = 16 /* the server stops */,
    NEST__UNREAD = 32 /* input is left, or the client may still be sending: close by lingering */,
    NEST__LINGERING = 64 /* ended and all output sent; waits only for the client to close */,
    NEST__EXPIRED = 128 /* a wait of this action reached its deadline: ends with NEST_TIMEOUT */
};

/* A deadline slot: a deadline and its place in a loop's wheel (loop/wheel.h), which knows the slot
 * by a number. */
struct nest__wheel_slot {
    uint32_t deadline;   /* 0: none */
    uint32_t next, prev; /* used by the wheel; prev is NEST__NO_NUMBER while it is in no wheel */
};
#define NEST__NO_NUMBER UINT32_MAX

struct nest_session {        /* one cache line; user variables are in a parallel array */
    uint64_t states;         /* bit n: state n is set */
    struct nest__work *work; /* borrowed while the session is busy; NULL while it is idle */
    nest__ref self;
    struct nest__chan c0;
    struct nest__wheel_slot until; /* used by the I/O side: deadline of the session and channel 0 */
    uint32_t next;                 /* link of the free list or the ready list */
    uint8_t clock; /* used by the engine: which limit the deadline stands for; 0: compute it anew */
    uint8_t channels;         /* the highest number of its channels */
    uint8_t last;             /* the state that was set last, as nest_lastseen returns it */
    uint8_t phase;            /* enum nest__phase */
    uint8_t reason;           /* enum nest_reason */
    uint8_t flags;            /* NEST__CLOSING and the others above */
    union {                   /* used by the loop */
        void *waiter;         /* while NEST__WAITING: the wait, on the stack of its action */
        uint64_t discarded;   /* while NEST__LINGERING: bytes that were received and dropped */
        struct {              /* while NEST__SHAKING: */
            uint32_t expires; /* the time limit */
            bool last_turn;   /* its input was there when the time was over */
        };
    };
};
_Static_assert(sizeof(struct nest_session) == 64, "a session is one cache line");

/* It waits for input of its client, or for the header of a proxy, and no action runs. */
static inline bool nest__reads(const nest_session *s) {
    return s->phase == NEST__READING || (NEST__PROXIED && s->phase == NEST__HEADED);
}

/* Received bytes. The I/O side visits a session as follows:
 *     room = nest__in_space(s, c, &p)                    0: use a buffer of the I/O side, `lent`
 *     n = receive into p;   window = {p, n, lent};   nest__chan_received(c, n == room)
 *     want = nest__pump(s, c, &window)                   WANT_AGAIN: repeat with the same window
 *     nest__own(s, &window)                              before the lent buffer is used again
 * If `lent` is set, nest__pump sets p and n to the bytes that it has not consumed. Otherwise the
 * bytes were received directly after the session's unread input; nest__pump takes them over and
 * sets n to 0. The window {NULL, 0, false} is always valid: it continues with the input that the
 * session already has. Do not call nest__event or nest__in_space while a lent window still holds
 * bytes. */
struct nest__window {
    uint8_t *p;
    uint32_t n;
    bool lent;
};
struct nest__out { /* a piece of queued output */
    enum { NEST__OUT_BYTES, NEST__OUT_FILE, NEST__OUT_PIPE } kind;
    int fd;        /* FILE: n bytes beginning at `at`; PIPE: the next n bytes */
    const void *p; /* BYTES */
    uint64_t n, at;
};
struct nest__restore { /* the state of a session that began in another process */
    uint64_t states;
    uint8_t last;
    const void *vars; /* nest__spec_vars_size bytes */
};
struct nest__arrival { /* a connection to be served; nest__open reads it before the first action */
    int fd;
    uint8_t kind;
    uint8_t listener;
    uint8_t io;   /* of its channel, if the poller has it already */
    bool proxied; /* the header of a proxy comes first, and nothing is received yet */
    bool headed;  /* that header came before a handshake, and the session has it already */
    const struct nest__from *from; /* the client, as filters say; NULL: ask the socket */
    const uint8_t *bytes; /* n bytes of input, at most nest__lease(), that were received already;
                             they are read first */
    uint32_t n;
    /* The session continues from here, without START. NULL: it begins with START. */
    const struct nest__restore *restore;
};

/* Whether a client is served, as services say. */
enum nest__admission {
    NEST__ADMITTED,
    NEST__TURNED_AWAY, /* it is told so, if the specification has an OVERLOAD rule */
    NEST__REFUSED      /* its connection is reset: telling it would keep the place of a client */
};

/* -- engine, called by the I/O side and workers. Results: NEST__WANT_* ------------------------- */
enum {
    NEST__WANT_READ = 1,
    NEST__WANT_WRITE = 2 /* output is queued */,
    NEST__WANT_AGAIN = 4 /* the visit's budget is spent; call nest__pump again with the rest */,
    NEST__WANT_END = 8 /* ended: send what is queued, close, call nest__released */
};
enum nest__event {
    NEST__EVENT_EOF,
    NEST__EVENT_RESET,
    NEST__EVENT_DRAIN,   /* the server stops: the session ends now if it is between messages,
                            otherwise after the current one */
    NEST__EVENT_CUT,     /* drainTimeout is over: ends now; queued output is dropped */
    NEST__EVENT_MAIL,    /* a message from another worker was handed over; it may have changed
                            the session */
    NEST__EVENT_EXPIRED, /* s->until may have been reached; the engine compares the times */
};
/* The most that a client may send while its connection lingers. It is more than the buffers of both
 * systems hold for a client that begins to read only then. */
enum { NEST__LINGER_BYTES = 16 * 1024 * 1024 };
enum { NEST__VISIT_MESSAGES = 64, NEST__VISIT_IN = 64 * 1024, NEST__VISIT_OUT = 256 * 1024 };
/* The size of a receive buffer for one client at a time. With `framing message`, where each receive
 * is a message, it is at least as large as that of a loop, because the bytes that do not fit would
 * become another message. */
static inline uint32_t nest__receive_capacity(void) {
    uint32_t room = nest__config.input_buffer;
    return NEST__MESSAGES && room < NEST__VISIT_IN ? NEST__VISIT_IN : room;
}

/* Begins a session. The caller has set `self` and the place of the variables. */
unsigned nest__open(nest_session *, const struct nest__arrival *);
/* Matches received bytes and runs actions, as described at struct nest__window. */
unsigned nest__pump(nest_session *, struct nest__chan *, struct nest__window *);
/* With option priorities: takes the bytes of a session at a read point, and does not look at them;
 * a later nest__pump with an empty window does. 0 or -ENOMEM; then nothing is taken. */
int nest__hold(nest_session *, struct nest__window *);
/* While an action runs or waits (phase NEST__ACTING), only records the event and returns 0. */
unsigned nest__event(nest_session *, enum nest__event);
/* When nest__event(s, NEST__EVENT_EXPIRED) is due if nothing happens before; 0: never. The I/O side
 * calls it after its sends, when a session without a waiting action begins to wait for its client.
 * It must store every result, also 0, in s->until: the engine keeps no other record of it, and
 * returns the same until something happens. Lingering has a deadline of its own, which the engine
 * does not know. While output is queued, only writeTimeout applies, because no input is read then.
 * The time of a TIMEOUT rule begins when the output has been sent. */
uint32_t nest__deadline(nest_session *);
uint32_t nest__idle_limit(const nest_session *); /* of this connection (service/timeout), in ms */
/* Where to receive input, and how many bytes; 0: use a buffer of the I/O side. */
uint32_t nest__in_space(nest_session *, struct nest__chan *, uint8_t **);
/* Copies what the session still needs of a lent window, before the buffer is used again. NULL: the
 * window of the running action, which is about to wait. On -ENOMEM the caller must send the session
 * NEST__EVENT_RESET. */
int nest__own(nest_session *, struct nest__window *);
/* Stores at most n pieces of output that are to be sent next. A file is always the only piece.
 * Returns the number of pieces; a pipe is as well. */
int nest__out_next(nest_session *, struct nest__chan *, struct nest__out[], int n);
/* With NEST__SPLICES: what a pipe holds of it becomes bytes. 0 or -ENOMEM: it was dropped. */
int nest__out_copy(nest_session *, struct nest__chan *);
/* Marks the first bytes as in flight: they are neither moved nor freed until nest__out_sent,
 * whatever the session does. Requires that no bytes are in flight. */
void nest__out_taken(nest_session *, struct nest__chan *, uint64_t);
/* Removes the first bytes from the queue, because they have been sent. Nothing is in flight any
 * more; the other bytes remain queued. */
void nest__out_sent(nest_session *, struct nest__chan *, uint64_t);
uint64_t nest__out_queued(const nest_session *, const struct nest__chan *);
bool nest__unread(const nest_session *); /* unread input may exist: close by lingering */
struct nest__need {
    const char *what;   /* a use of memory by one client, or by the server */
    const char *option; /* the option that limits it; NULL: none */
    uint64_t most;      /* bytes, whichever directives the actions use */
    uint64_t alone;     /* of these, what a client can use without the help of an action */
};
enum { NEST__NEEDS = 32 }; /* maximum for one part */
/* Lists the memory that a session uses in the engine, for its variables and in services. Returns
 * the number of entries. */
unsigned nest__session_needs(struct nest__need needs[NEST__NEEDS]);
/* How many descriptors a client can hold. `most`: while an action runs, including those for which a
 * directive may fail; otherwise only those that are held between actions. */
uint32_t nest__session_descriptors(bool most);
/* Called when nothing refers to the session any more and its connection is closed. Frees its work
 * block. */
void nest__released(nest_session *);

/* The engine's memory of a worker (a process, a thread or a loop), which runs one action at a time:
 * parts, lists of NFA threads, the pool of work blocks. It begins as zeroes. It can have megabytes,
 * so worker models map it, rather than keep it on a stack or in thread-local storage. */
struct nest__worker;
/* Identifies this worker process among all of this run of the server: the number of its
 * predecessors in the same place, times the maximum number of workers, plus its place; modulo 2^16.
 * 0 in processServer and preforkServer, where the slot is the place and the generation counts the
 * predecessors. */
extern uint16_t nest__serial;
/* nest_id: the bits from here upward are nest__serial. The bits below identify the connection in
 * its worker: generation * maxClients + slot + 1. An id is used again after 65,536 workers, or
 * at the earliest after 2^28 connections in one slot. */
enum { NEST__ID_SERIAL = 48 };
/* Supplied by workers: the worker of this thread; NULL before there is one. */
struct nest__worker *nest__worker(void);
/* Called when a worker that serves one connection at a time has no connection. Frees the worker's
 * pool if memory has ever been short, because another worker may need the memory. */
void nest__worker_rests(struct nest__worker *);
int nest__worker_begin(struct nest__worker *);  /* allocates for matching; 0 or -ENOMEM */
void nest__worker_clear(struct nest__worker *); /* frees its memory; it may begin again */
/* Reserves what an action needs when no memory is left. So a client whose message is complete is
 * answered even if incomplete messages of others use all memory. For workers that serve many
 * clients. Returns 0 or -ENOMEM. */
int nest__worker_reserve(struct nest__worker *);
void *nest__vars(const nest_session *); /* supplied by workers: a session's variables, or NULL */
/* Counts of sessions for each reason, [NEST_REASONS]; server scope; workers allocate it.
 * [NEST_OPEN] counts the sessions that are open or were lost in a crash, so the number of opened
 * sessions is always the sum of all entries. */
extern _Atomic uint64_t *nest__ended;
/* The same counts in a worker's report to its supervisor, which outlives the worker. */
extern _Atomic uint64_t *nest__reported;
/* Counts in both places: an action may overwrite the report, and the worker may die. */
static inline void nest__count(enum nest_reason reason, uint64_t by) {
    atomic_fetch_add_explicit(&nest__ended[reason], by, memory_order_relaxed);
    atomic_fetch_add_explicit(&nest__reported[reason], by, memory_order_relaxed);
}
/* For the crash report, async-signal-safe: the number of the rule whose action runs on this worker,
 * or NEST__ACT_*, as for nest__spec_act; and the session of this action, NULL if there is none. */
int nest__current_rule(void);
nest_session *nest__current_session(void);
/* Move an action to another thread ($block): nest__action_take removes it from the worker of the
 * calling thread, and nest__action_put gives it to the worker of the other. At most one action runs
 * on a worker. */
struct nest__action *nest__action_take(void); /* NULL: none runs */
void nest__action_put(struct nest__action *);

/* -- the I/O side: time, waits, sends ---------------------------------------------------------- */
/* Times are in milliseconds since an arbitrary moment, modulo 2^32. A deadline of 0 means "never";
 * a deadline that would be 0 is 1 instead. */
uint32_t nest__now(void);   /* the time of the current visit; cheap */
uint32_t nest__clock(void); /* reads the clock; for a wait after an action that may have run long */
static inline bool nest__reached(uint32_t deadline, uint32_t now) {
    return (int32_t)(now - deadline) >= 0;
}
static inline uint32_t nest__after(uint32_t now, uint32_t ms) {
    return now + ms == 0 ? 1 : now + ms;
}
static inline uint32_t nest__earlier(uint32_t a, uint32_t b) { /* of two deadlines */
    return a == 0 || (b != 0 && !nest__reached(a, b)) ? b : a;
}
enum nest__what {
    /* Until at most `mark` bytes are queued. Result: 0. */
    NEST__DRAINED,
    /* Until all output has been sent and then bytes have been received into `into`, at most `room`.
     * Result: how many; 0: end of file, and NEST__CHAN_EOF is set. The I/O side calls
     * nest__chan_received; the engine does everything else. */
    NEST__INPUT,
    /* Until `deadline`; queued output is sent meanwhile. Result: 0. */
    NEST__TIME,
    /* Until work(arg) has run where it may block: in loops on a helper thread, elsewhere at once.
     * Never cut short. Result: that of work, >= 0 or -errno. */
    NEST__WORK,
    /* Until something has come for a member (channel/pool.h). `chan` is channel 0, which is looked
     * after as in a pause if it is no member. Result: 0. */
    NEST__ANY
};
struct nest__wait {
    enum nest__what what;
    struct nest__chan *chan;
    uint64_t mark;
    uint8_t *into; /* not in a lent window: the engine calls nest__own before it waits */
    uint32_t room;
    uint32_t deadline; /* 0: none */
    int (*work)(void *);
    void *arg;
    struct nest__member *members; /* ANY */
    unsigned count;
};
/* Waits. The engine calls this function from inside an action. It first sends queued output, as
 * much as the kernel accepts. In loops, if there is something to wait for, the action keeps its
 * stack and the loop continues on another one. Results < 0: -ECONNRESET; -ETIMEDOUT (the deadline
 * of DRAINED or INPUT); -ECANCELED (drainTimeout is over); -ENOMEM. The engine records the failure
 * in the session: the I/O side does not call nest__event from inside.
 *
 * While an action waits on one channel, queued output leaves on the others, each within its own
 * deadline. A wait on a further channel also ends, by -ECONNRESET, when the client is gone: then
 * channel 0 has NEST__CHAN_GONE. If it has not, the further channel itself was reset. An error of a
 * further channel never ends a wait on another channel. */
int nest__wait(nest_session *, const struct nest__wait *);
bool nest__stopping(void);  /* whether a stop has begun; may be called from any thread */
uint32_t nest__lease(void); /* the size of the largest window that the I/O side lends */
/* The I/O side also supplies nest_block_begin and nest_block_end ($block). In loops the action
 * moves to a helper thread and back; elsewhere nothing happens. The helper has a worker of its own,
 * on which this action is the running one. */
/* Sends queued output, as much as the kernel accepts, without waiting. Returns 0 or -ECONNRESET. */
int nest__push(nest_session *, struct nest__chan *);
/* Sends up to `n` bytes of a file, beginning at `at`, without copying them. Requires an empty
 * queue. Returns the number of bytes; 0: the file ends there; -EAGAIN: nothing can be sent now, or
 * the file must be read and queued instead; -ECONNRESET; another -errno is an error of the file. */
int64_t nest__send_file(nest_session *, struct nest__chan *, int fd, uint64_t at, uint64_t n);
/* Whether bytes were received that no NEST__INPUT has returned, or are being received: then nobody
 * else may receive. */
bool nest__received_ahead(const struct nest__chan *);
/* Whether a NEST__INPUT would return bytes at once. Makes a system call. False at end of file. */
bool nest__chan_pending(const struct nest__chan *);
/* How many bytes the system was given, modulo 2^64 and from a number that each channel chooses, if
 * `sent` bytes of its output were sent. These are bytes as they leave, encoded and encrypted: part
 * of a record or of an encoded piece leaves before the bytes in it count as sent. */
uint64_t nest__chan_given(const struct nest__chan *, uint64_t sent);
/* How many bytes the system holds that the client has not acknowledged. Makes a system call. */
uint64_t nest__chan_unsent(const struct nest__chan *);
/* The address as one of IPv6, an address of IPv4 as ::ffff:a.b.c.d. False: it has none. */
bool nest__peer_bytes(const struct nest__chan *, uint8_t to[16]);
void nest__peer_text(const struct nest__chan *, char *to, size_t size); /* of the other side */

/* -- workers --------------------------------------------------------------------------------- */
/* Checks and reserves the resources that nest__config.max_clients needs. Called after start-up code
 * (which may fork) and before a socket is opened. Returns 0, or -errno after a message. */
int nest__workers_prepare(void);
/* Serves until TERM or INT. Returns the exit status: 0 only if no client was cut off. */
int nest__workers_run(void);
/* A result of nest__workers_run, instead of 1: actions still run, and exit handlers might wait for
 * them. So the process must end without exit handlers. */
enum { NEST__ABANDONED = -1 };
/* Lists the memory that a client needs besides its session, such as a stack. Returns how many. */
unsigned nest__worker_needs(struct nest__need needs[NEST__NEEDS]);
uint32_t nest__worker_threads(void); /* the number of threads of a worker that run actions */
/* The number of processes that share maxClients. Limits of the system apply to each process. */
uint32_t nest__worker_processes(void);
/* How many connections a stop has cut off, because they were not finished after drainTimeout. */
uint64_t nest__cut(void);
void nest__cut_add(uint64_t clients);
/* HUP: reads the configuration again, changes the options that may change (nest__option.reload) or,
 * if there is an error, none of them, and reports what it did. With threads it may be called at any
 * time, because these options are atomic. Elsewhere it is called while no action reads one. */
void nest__config_reload(void);
/* The two halves of nest__config_reload: _apply reads and changes, and reports errors. _applied
 * reports the changes; `all`: every worker has read them too. */
void nest__config_apply(void);
void nest__config_applied(bool all);
/* While a reload is applied, and until it is reported: the option with this value, a member of
 * nest__config, cannot change. It gets the value from before, and the report says so. */
void nest__config_refuse(const void *value);
void nest__config_follow(void); /* in a worker: reads and changes; the supervisor reports */
/* Sends a message to systemd (sd_notify(3)): lines such as "READY=1", "STOPPING=1", "WATCHDOG=1".
 * Has no effect without systemd. */
void nest__notify(const char *state);
uint32_t nest__watchdog(void); /* ms between two "WATCHDOG=1" (half of systemd's limit); 0: none */

#endif
