/* seam.h: the one contract between the generated part, the engine, channels, loops, workers and
 * listener.
 *
 * Part            supplies                                    may call
 * generated       nest__spec_*, tables                        nest.h (actions only)
 * engine/         "engine" below, nest.h                      nest__wait, nest__push, nest__now,
 *                                                             nest__chan_pending, nest__peer_text,
 *                                                             files, platform
 * channel/        channel.h, queue.h                          platform
 * loop/           nest__wait, nest__stopping, nest__cut       engine, pollers, channels, listener
 * poller/         poller.h, nest__push, nest__now             loop, engine's queue, channels
 * blocking/       the same in place of loop/ and poller/      engine, channels, platform
 * workers/        "workers" below                             engine, loop, listener, platform
 * listener/       "listener" below                            platform
 * file/           "files" below                               platform
 * service/NAME/   NAME.h: what join points (nest__on_*) call  the running action (engine.h), files,
 *                                                             listener, platform
 * One model per binary: direct calls, one translation unit (server.c includes the chosen files).
 * No file here includes another .c; embed.rs fixes the order: seam.h, the services' headers and the
 * join points, then the parts. The join points are described in points.rs. */
#ifndef NEST_SEAM_H
#define NEST_SEAM_H

#ifndef _GNU_SOURCE /* accept4, signalfd; before the first system header of the unit */
#define _GNU_SOURCE 1
#endif

#include "nest.h"

#include <stdatomic.h>

/* -- sizes the generated part defines before including this -------------------------------------
 * NEST__RULES        pattern rules (>= 1; 1 with no rule active if there is none)
 * NEST__CONDITIONS   different conditions of rules (>= 1)
 * NEST__STANDALONE   rules that are matched apart from others
 * NEST__TAGS         most tags of any rule (>= 1)
 * NEST__REGISTERS    most registers of any automaton (>= 1)
 * NEST__PARTS        most elements of any rule (>= 1)
 * NEST__THREAD_WORDS  uint16_t words of thread lists a session may have to keep (>= 1)
 * NEST__NFA_STATES   most NFA states of any rule (>= 1)
 * NEST__TIMERS       TIMEOUT rules
 * NEST__PIPES        1: option inetd, a connection may be a pair of pipes; 0
 * NEST__MESSAGES     1: framing message; 0: stream */

/* -- generated: matcher tables (docs/architecture.md, "Matching") ---------------------------- */
struct nest__dfa { /* 0 is dead; 1 accepts and is not live; 2..first_silent-1 accept and are live;
                      the rest are live. next[state * class_count + classes[byte]] */
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
/* A place in a message: `by` bytes behind one of the marks that an action has. Modulo 2^32. */
enum { NEST__MARK_START, NEST__MARK_END, NEST__MARK_TAG, NEST__MARK_NONE = 0xffff };
struct nest__cut {
    uint16_t mark; /* NEST__MARK_TAG and on: a tag; NONE: the place is not known */
    uint32_t by;
};
struct nest__rule {
    const char *name; /* its NAME, or "line N" */
    const char *file;
    uint32_t line;
    uint16_t parts;               /* elements */
    uint32_t threads;             /* without dfa: first word of its list in nest__match.threads */
    const struct nest__cut *cuts; /* part n from [n - 1] to [n]; NULL: none is known */
    /* Apart: NULL if it is over the budget, and run by its ordered thread list. */
    const struct nest__dfa *dfa;
    const struct nest__nfa *nfa; /* for unknown cuts and thread lists; NULL if neither is needed */
};
extern const struct nest__rule nest__rules[NEST__RULES];
/* Of those apart, which rules are live behind a first byte: bit rule % 64 of word byte *
 * NEST__RULE_WORDS + rule /
 * 64. Of rules without a dfa it says that they are. */
enum { NEST__RULE_WORDS = (NEST__RULES + 63) / 64 };
extern const uint64_t nest__first[];          /* [256 * NEST__RULE_WORDS], unless none is apart */
extern const char *const nest__state_names[]; /* [0] START, [1] DEFAULT, then as declared */
extern const unsigned nest__state_count;
extern const char nest__spec_name[];    /* "echo" */
extern const char nest__spec_file[];    /* "echo.nest" */
extern const char nest__model_name[];   /* "event" */
extern const char nest__tool_version[]; /* of the compiler: "nest 0.1.0" */
extern const bool nest__has_start;
enum { NEST__START_STATE, NEST__DEFAULT_STATE };

/* TIMEOUT(d) rules, as they are written. */
struct nest__timer {
    const char *name; /* "line N" */
    const char *file;
    uint32_t line;
    uint32_t after; /* ms, 1 to NEST__LONGEST */
};
extern const struct nest__timer nest__timers[];
/* The number of the TIMEOUT rule that fires first of those whose condition holds: the shortest, of
 * equals the first written; -1: none is active. */
int nest__spec_timer(uint64_t states, unsigned last);

/* Which conditions of pattern rules hold: a bit for each. */
enum { NEST__ACTIVE_WORDS = (NEST__CONDITIONS + 63) / 64 };
struct nest__active {
    uint64_t bits[NEST__ACTIVE_WORDS];
};
/* Whether any holds. */
bool nest__spec_active(uint64_t states, unsigned last, struct nest__active *);
/* Of the rules that are matched apart, the numbers of those that are active, ascending; how many.
 */
unsigned nest__spec_standalone(const struct nest__active *, uint16_t rules[NEST__RULES]);

/* Rules side by side in one automaton, on their way through a message. Those of two automata are
 * never active together; others, matched apart, may be. */
struct nest__run {
    uint16_t automaton; /* that waits for more bytes */
    uint16_t state;     /* 0: none does: no rule is live, or they are matched apart */
    uint32_t best;      /* the rule that takes */
    uint32_t best_n;    /* so many bytes */
    struct nest__active active;
    uint32_t tags[NEST__TAGS]; /* of best: positions in the message */
    uint32_t registers[NEST__REGISTERS];
};
/* How far bytes have brought it. In registers: where the next message begins does not wait for
 * memory. */
struct nest__step {
    uint64_t state;  /* 0: no rule is live */
    uint64_t best_n; /* 0: none has accepted */
};
/* Takes bytes [p, end), one at least, of the message that began at `start`. At its first byte it
 * begins, by the states: sets active as far as automata or rules apart depend on it. Where rules
 * are still live at the end, it sets automaton and registers, to go on there. What it returns is
 * the caller's to keep in the run. */
struct nest__step nest__spec_run(struct nest__run *, uint64_t states, unsigned last,
                                 const uint8_t *start, const uint8_t *p, const uint8_t *end);
/* actions.c */
extern const size_t nest__spec_vars_size;              /* 0: none */
void nest__spec_vars_init(nest_session *, void *vars); /* vars is zeroed */
enum {
    NEST__ACT_START = -1,
    NEST__ACT_END = -2,
    NEST__ACT_TIMER = -3,      /* less the timer's number */
    NEST__ACT_NONE = -0x7fffff /* nest__current_rule: no action runs */
};
/* A rule's number, or one of the above, which have no message. */
void nest__spec_act(nest_session *, void *vars, int rule, const struct nest_message *);
int nest__spec_startup(int argc, char **argv); /* < 0: go on; else exit status */

/* -- configuration: values of run-time options, filled by config/ before anything else runs -- */
enum { NEST__LISTEN_MAX = 16 };
struct nest__config { /* atomic: what a running server may read again while threads look at it */
    uint32_t max_clients;
    uint32_t input_buffer;          /* bytes */
    _Atomic uint32_t output_buffer; /* bytes */
    _Atomic uint32_t keep_limit;    /* bytes */
    uint32_t server_port;
    const char *_Atomic server_name; /* an old text stays valid */
    const char *listen; /* addresses separated by blanks; NULL: all interfaces, server_port */
    /* Durations in ms, at most NEST__LONGEST; 0: no limit. */
    _Atomic uint32_t read_timeout, write_timeout, idle_timeout, linger_timeout, drain_timeout;
    uint32_t helpers;      /* most helper threads of a loop, >= 1 */
    const char *file_root; /* "": the working directory */
};
#define NEST__LONGEST (24u * 60 * 60 * 1000) /* ms: of any duration */
enum { NEST__CLIENTS_MOST = 1000000 };       /* of max_clients, as the table of options has it */
extern struct nest__config nest__config;
enum nest__option_kind { NEST__NUMBER, NEST__SIZE, NEST__TEXT, NEST__ADDRESSES, NEST__DURATION };
struct nest__option { /* generated from the compiler's one table of options */
    const char *name;
    enum nest__option_kind kind;
    void *value; /* in nest__config: uint32_t * or const char **, if `reload` of _Atomic ones */
    uint32_t least, most;
    const char *initial; /* as the specification or the default has it */
    const char *help;
    bool reload; /* HUP changes it in the running server; else it needs a restart */
};
extern const struct nest__option nest__options[];
extern const unsigned nest__option_count;

/* -- sessions -------------------------------------------------------------------------------- */
typedef struct nest__ref {
    uint32_t slot, gen;
} nest__ref; /* the only name others may keep */

enum nest__address_kind { NEST__TCP4, NEST__TCP6, NEST__UNIX, NEST__SCRIPT, NEST__PIPE };

struct nest__chan { /* I/O belongs to channels; a session embeds channel 0 */
    int32_t fd;     /* script: the conversation's number */
    uint8_t kind;   /* enum nest__address_kind */
    uint8_t state;  /* NEST__CHAN_* */
    uint8_t io;     /* the poller's own (epoll: what is armed) */
    uint8_t awaits; /* enum nest__await, in a loop */
};
enum nest__await {                      /* what a loop lets a channel wait for: poller/poller.h */
                   NEST__AWAIT_NOTHING, /* for now */
                   NEST__AWAIT_INPUT,
                   NEST__AWAIT_OUTPUT, /* queued output leaves */
                   NEST__AWAIT_ERRORS  /* the client is gone */
};
enum {
    NEST__CHAN_EOF = 1,
    NEST__CHAN_GONE = 2,
    NEST__CHAN_MORE = 4,  /* nothing was received yet, or the last receive filled its buffer */
    NEST__CHAN_SENT = 8,  /* since the last receive, */
    NEST__CHAN_LATE = 16, /* and in more than one go: time has passed, and more may have come */
    NEST__CHAN_CUT = 32,  /* engine: nothing is delivered any more; io resets instead of closing */
    NEST__CHAN_AHEAD =
        64 /* engine: what is pushed now stands before a file: no packet for itself */
};

extern int nest__pipe_out; /* channel/pipe.c: where a PIPE's output goes */

/* io, after a receive: whether it filled the room it had. */
static inline void nest__chan_received(struct nest__chan *chan, bool full) {
    chan->state &= NEST__CHAN_EOF | NEST__CHAN_GONE | NEST__CHAN_CUT;
    chan->state |= full ? NEST__CHAN_MORE : 0;
}

/* io, after a send. */
static inline void nest__chan_sent(struct nest__chan *chan) {
    chan->state |= (chan->state & NEST__CHAN_SENT) != 0 ? NEST__CHAN_LATE : NEST__CHAN_SENT;
}

enum nest__phase {
    NEST__FREE,    /* not a session */
    NEST__READING, /* at a read point */
    NEST__ACTING,  /* an action runs, or waits in a wait */
    NEST__ENDED,   /* END has run, the reason is counted; output may still leave */
    NEST__LEAVING, /* its channel is being closed: released when its last operation has completed */
};
enum {
    NEST__CLOSING = 1,
    NEST__CUT = 2 /* a wait of this action was cut short */,
    NEST__WAITING = 4,
    NEST__READY = 8 /* in the ready list */,
    NEST__STOPPING = 16,
    NEST__UNREAD = 32 /* input was left when it ended */,
    NEST__LINGERING = 64 /* ended and delivered: only waits for the client to close */,
    NEST__EXPIRED = 128 /* a wait of this action was cut by its time: it ends with NEST_TIMEOUT */
};

/* A deadline slot: a deadline and its place in a loop's wheel (loop/wheel.h), which knows the slot
 * by a number. */
struct nest__wheel_slot {
    uint32_t deadline;   /* 0: none */
    uint32_t next, prev; /* the wheel's own; prev is NEST__NO_NUMBER in no wheel */
};
#define NEST__NO_NUMBER UINT32_MAX

struct nest_session { /* one line of cache; user variables lie in a parallel slab */
    uint64_t states;
    struct nest__work *work; /* borrowed while not idle, else NULL */
    nest__ref self;
    struct nest__chan c0;
    struct nest__wheel_slot until; /* io's: the deadline of the session and of its channel 0 */
    uint32_t next;                 /* free list, ready list */
    uint8_t clock;    /* engine: what its deadline is the end of; 0: something has happened since */
    uint8_t channels; /* the highest number of its channels */
    uint8_t last, phase, reason, prio, flags, loop;
    union {                 /* the workers's own */
        void *waiter;       /* while NEST__WAITING: who waits in a wait */
        uint64_t discarded; /* while it lingers: bytes read and dropped */
    };
};
_Static_assert(sizeof(struct nest_session) == 64, "a session is one cache line");

/* Received bytes. One visit of io:
 *     lent = (room = nest__in_space(s, c, &p)) == 0;      then p, room: io's own buffer
 *     n = receive into p;   window = {p, n, lent};   nest__chan_received(c, n == room)
 *     want = nest__pump(s, c, &window);                   WANT_AGAIN: again, with the same window
 *     before io's buffer serves anything else: nest__own(s, &window)
 * lent: the bytes are in io's buffer; pump leaves in p, n what it has not consumed. Not lent: they
 * were received behind the session's rest; pump takes them over and leaves n = 0. {NULL, 0, false}
 * is always right to go on with what the session already has. nest__event and nest__in_space may
 * be called only when no lent window is outstanding. */
struct nest__window {
    uint8_t *p;
    uint32_t n;
    bool lent;
};
struct nest__out { /* a piece of what is queued */
    enum { NEST__OUT_BYTES, NEST__OUT_FILE } kind;
    int fd;        /* FILE: its bytes from `at` on */
    const void *p; /* BYTES */
    uint64_t n, at;
};
struct nest__restore { /* a session that another server, or process, has begun */
    uint64_t states;
    uint8_t last;
    const void *vars; /* as they were: nest__spec_vars_size bytes */
};
struct nest__arrival { /* a connection that is to be served; what it names may go when nest__open
                          has begun to run an action */
    int fd;
    uint8_t kind;
    uint8_t listener;
    const uint8_t *bytes; /* n of its input that were received already, at most nest__lease(); they
                             are the first that is read */
    uint32_t n;
    const struct nest__restore *restore; /* it goes on from here, in place of START; NULL */
};

/* -- hooks: join points of advice, `static inline` in server.c, empty if nothing is enabled -----
 *     nest__on_open(s)                    before START
 *     nest__on_take(s, rule, bytes, n)    a pattern rule was decided; before its action
 *     nest__on_timer(s, &timer)           a TIMEOUT rule fires; before its action
 *     nest__on_acted(s, taken)            after every action; bytes that it took behind its match
 *     nest__on_reply(s, bytes, n)         an item that a directive queues, whole; before a wait
 *     nest__on_file(s, fd, at, n)         bytes of a file that are sent without being queued
 *     nest__on_states(s)                  after START, and at read points whose states or last seen
 *                                         state differ from those of the read point before
 *     nest__on_end(s)                     END has run; s->reason says why */

/* -- engine, called by io and workers. Results: NEST__WANT_* ------------------------------------
 */
enum {
    NEST__WANT_READ = 1,
    NEST__WANT_WRITE = 2 /* output is queued */,
    NEST__WANT_AGAIN = 4 /* the visit's budget is spent; call nest__pump again with the rest */,
    NEST__WANT_END = 8 /* ended: deliver what is queued, close, nest__released */
};
enum nest__event {
    NEST__EVENT_EOF,
    NEST__EVENT_RESET,
    NEST__EVENT_DRAIN, /* the server stops: ends now if it is between messages, else after this one
                        */
    NEST__EVENT_CUT,   /* drainTimeout is over: ends now; what is queued is dropped */
    NEST__EVENT_EXPIRED, /* s->until.deadline has come: a TIMEOUT rule, or the end. May come early
                            or late; the engine looks at the time itself */
};
/* What a client may still send while its connection lingers: more than both systems hold for one
 * that only then begins to read. */
enum { NEST__LINGER_BYTES = 16 * 1024 * 1024 };
enum { NEST__VISIT_MESSAGES = 64, NEST__VISIT_IN = 64 * 1024, NEST__VISIT_OUT = 256 * 1024 };
/* Bytes of a buffer that is one client's at a time. Where a receive is a message it is not cut
 * sooner than a loop does: what is beyond inputBuffer in it would be another. */
static inline uint32_t nest__receive_capacity(void) {
    uint32_t room = nest__config.input_buffer;
    return NEST__MESSAGES && room < NEST__VISIT_IN ? NEST__VISIT_IN : room;
}

/* Slot, gen and the vars slab are set. */
unsigned nest__open(nest_session *, const struct nest__arrival *);
unsigned nest__pump(nest_session *, struct nest__chan *, struct nest__window *);
/* While an action runs or waits (phase NEST__ACTING) it only notes the event and returns 0. */
unsigned nest__event(nest_session *, enum nest__event);
/* When nest__event(s, NEST__EVENT_EXPIRED) is due if nothing comes before it; 0: never. io asks
 * when it leaves a session that is not in a wait to wait for the client (after its sends), stores
 * every answer, 0 too, in s->until (the engine has no other memory of it, and answers the same
 * until something has happened), and may be late in looking. Not for lingering, which is io's.
 * While output waits only writeTimeout runs: nothing is read then, so no client is late, and a
 * TIMEOUT rule's clock begins when the output has left. */
uint32_t nest__deadline(nest_session *);
/* The idle limit of this connection (service/timeout). */
uint32_t nest__idle_limit(const nest_session *);
uint32_t nest__in_space(nest_session *, struct nest__chan *, uint8_t **); /* 0: use io's buffer */
/* Before a lease ends; -ENOMEM: the session is to be told NEST__EVENT_RESET. NULL: the window that
 * its running action reads from (for a fiber switch that lets others use the buffer). */
int nest__own(nest_session *, struct nest__window *);
/* What is to be sent next: how many pieces, at most n; a file is one by itself. */
int nest__out_next(nest_session *, struct nest__chan *, struct nest__out[], int n);
/* So many of these bytes are in flight: they stay where they are until nest__out_sent, whatever the
 * session does. None was in flight. */
void nest__out_taken(nest_session *, struct nest__chan *, uint64_t);
/* So many have left; of those in flight the others are as they were before. */
void nest__out_sent(nest_session *, struct nest__chan *, uint64_t);
uint64_t nest__out_queued(const nest_session *, const struct nest__chan *);
bool nest__unread(const nest_session *); /* unread input may exist: close by lingering */
/* Something of a client's that takes memory. */
struct nest__need {
    const char *what;
    const char *option; /* that says how much; NULL: none does */
    uint64_t most;      /* bytes, whatever its actions do with directives */
    uint64_t alone;     /* of them: whatever clients do by themselves */
};
enum { NEST__NEEDS = 16 }; /* at most, of one part */
/* What a session needs in the engine, for its variables and buffers, and in services. How many. */
unsigned nest__session_needs(struct nest__need needs[NEST__NEEDS]);
/* Descriptors that a client can hold, its connection and files; `most`: as long as one action runs,
 * which may fail for want of them; else: from action to action. */
uint32_t nest__session_descriptors(bool most);
void nest__released(nest_session *); /* nothing can name it any more; frees its work block */

/* A worker runs one action at a time: a process, a thread, a loop. */
struct nest__worker; /* engine's scratch of a worker: parts, thread lists, pools of work blocks.
                         Zeroed memory is a new one; it may be megabytes, so the workers maps it:
                         neither on a stack nor in thread-local storage */
/* Which worker process this is in this run of the server: its life (how many workers had its number
 * before) times the most workers at once, and its number. 0 where each connection has a process:
 * its slot is the worker's number, and its generation the life. Modulo 2^16. */
extern uint16_t nest__serial;
/* nest_id: the bits from here on are nest__serial; the bits below name the connection in its
 * worker, generation * maxClients + slot + 1. Names return after 65,536 workers, or after 2^28
 * connections in one slot. */
enum { NEST__ID_SERIAL = 48 };
/* Workers: the one of this thread; NULL before there is one. */
struct nest__worker *nest__worker(void);
/* A worker of one connection has none for now: if memory has ever been short, its pool is freed,
 * for another worker may need it. */
void nest__worker_rests(struct nest__worker *);
void nest__worker_clear(struct nest__worker *); /* frees its pools; it is as new */
/* Puts by what an action needs that runs when no memory is left, so that one client's unfinished
 * messages are not the end of another whose message is there. Of a worker that serves many. 0 or
 * -ENOMEM. */
int nest__worker_reserve(struct nest__worker *);
void *nest__vars(const nest_session *); /* workers: its place in the slab; NULL if there are none */
/* [NEST_REASONS], workers places it: server scope. [NEST_OPEN] counts who is open, and who was when
 * a crash took them along, so that opened is always the sum of all. */
extern _Atomic uint64_t *nest__ended;
/* The same in the report of a worker to its supervisor, which outlives the worker. */
extern _Atomic uint64_t *nest__reported;
/* Both are counted: the report may be spoiled by an action, and the worker may die. */
static inline void nest__count(enum nest_reason reason, uint64_t by) {
    atomic_fetch_add_explicit(&nest__ended[reason], by, memory_order_relaxed);
    atomic_fetch_add_explicit(&nest__reported[reason], by, memory_order_relaxed);
}
/* For the report of a crash, async-signal-safe: the rule number or NEST__ACT_* (TIMEOUT: less its
 * number) whose action runs on this worker; and its session, NULL if none. */
int nest__current_rule(void);
nest_session *nest__current_session(void);
/* Who moves an action to another worker ($block) takes it off this thread's, and puts it on that
 * of the thread on which it goes on. At most one runs on a worker. */
struct nest__action *nest__action_take(void); /* NULL: none runs */
void nest__action_put(struct nest__action *);

/* -- io: the fiber switch
 * ---------------------------------------------------------------------------- */
/* Time is in milliseconds since an unknown beginning, modulo 2^32. As a deadline 0 is "never", and
 * what would be 0 is 1. */
uint32_t nest__now(void);   /* of this visit; cheap */
uint32_t nest__clock(void); /* read anew: an action that waits from now on may have run for long */
static inline bool nest__reached(uint32_t deadline, uint32_t now) {
    return (int32_t)(now - deadline) >= 0;
}
static inline uint32_t nest__after(uint32_t now, uint32_t ms) {
    return now + ms == 0 ? 1 : now + ms;
}
enum nest__what {
    NEST__DRAINED, /* until at most `mark` bytes are queued. 0 */
    NEST__INPUT,   /* until all output has left, and then bytes were received into `into`, at most
                      `room`: how many; 0: end of file (noted: NEST__CHAN_EOF). io notes what it
                      received by nest__chan_received; the rest is the engine's */
    NEST__TIME,    /* until `deadline`; output leaves meanwhile. 0 */
    NEST__WORK /* until work(arg) has run where it may block: on a helper thread in loops, at once
                  elsewhere. Never cut short. Its result (>= 0, or its own -errno) */
};
struct nest__wait {
    enum nest__what what;
    struct nest__chan *chan;
    uint64_t mark;
    uint8_t *into; /* not in a lent window: the engine owns (nest__own) before it asks */
    uint32_t room;
    uint32_t deadline; /* 0: none */
    int (*work)(void *);
    void *arg;
};
/* Waits; the only function of this side that the engine enters from inside an
 * action. Output that is queued is sent first, as far as it goes. In loops the action keeps its
 * stack and the loop goes on on another, and only if there is really something to wait for. Results
 * < 0: -ECONNRESET, -ETIMEDOUT (the deadline; of DRAINED, INPUT), -ECANCELED (drainTimeout is
 * over), -ENOMEM. The engine marks the session itself: io calls no nest__event from inside.
 *
 * While an action waits on one channel, queued output leaves on the others, each within its own
 * deadline. A wait on a further channel also ends, by -ECONNRESET, when the client is gone: then
 * channel 0 is noted as NEST__CHAN_GONE (NEST__EVENT_RESET), else the channel itself was lost. What
 * becomes of a further channel never ends a wait on another one. */
int nest__wait(nest_session *, const struct nest__wait *);
/* A stop has begun, so that NEST__EVENT_DRAIN has come or will come. From any thread. */
bool nest__stopping(void);
/* Bytes of the largest window that it lends. */
uint32_t nest__lease(void);
/* nest_block_begin, nest_block_end ($block) are of this side too: in loops the action goes on on a
 * helper thread, and comes back; elsewhere it just goes on. The helper has a worker of its own, on
 * which this action is the running one. */
/* Sends now what the kernel takes, without waiting. 0 or -ECONNRESET. */
int nest__push(nest_session *, struct nest__chan *);
/* Sends `n` bytes of a file from `at` on, without a copy, when nothing is queued. How many; 0: the
 * file ends there; -EAGAIN: none now, or not in this way; -ECONNRESET; another -errno is the
 * file's.
 */
int64_t nest__send_file(nest_session *, struct nest__chan *, int fd, uint64_t at, uint64_t n);
/* Bytes wait to be received: a NEST__INPUT would not block. Asks the system. False at end of file.
 */
bool nest__chan_pending(const struct nest__chan *);
/* The peer of a channel as text, into `to`. */
void nest__peer_text(const struct nest__chan *, char *to, size_t size);

/* -- files: beneath fileRoot; descriptors and bytes, no session, no model. They may block, unless
 * `cached`: then -EAGAIN rather than wait for a disk. ---------------------------------------- */
int nest__file_root_open(void);   /* at start; 0, or -errno with a message */
void nest__file_root_close(void); /* the server ends: nothing of its own is left in fileRoot */
/* A process of the server has died: removes the unfinished uploads that it left. */
void nest__file_root_lost(long process);
/* 0 and all of *file, or -errno. */
int nest__file_open(const char *path, bool cached, nest_file *file);
/* Bytes; 0 at its end; -errno. */
int64_t nest__file_read(int fd, void *to, size_t n, uint64_t at, bool cached);
/* All of it is in memory; false also where the system cannot tell. */
bool nest__file_resident(int fd, uint64_t at, uint64_t n);
void nest__file_ahead(int fd, uint64_t at, uint64_t n); /* soon to be read: begins to fetch it */
void nest__file_close(int fd);
/* Deletes a regular file, or a link itself. 0 or -errno. */
int nest__file_delete(const char *path);
/* What a folder holds, by name; at most `room` bytes (-EOVERFLOW). How many; they are the caller's,
 * at list->entries, which is NULL if there are none. Or -errno. */
int nest__file_list(const char *path, size_t room, nest_files *list);
/* A file that is being received: beside its place, without a name where the system can. */
struct nest__upload;
int nest__upload_begin(const char *path, struct nest__upload **);
int nest__upload_write(struct nest__upload *, const void *, size_t);
/* From here on it takes the place only of what was there when it began, or of nothing: else its
 * commit is -ESTALE. Before it is offered. */
void nest__upload_guard(struct nest__upload *);
/* The file is complete and will be committed with sync: an earlier commit of another upload may
 * include it. Does not wait; nest__upload_commit must follow. */
void nest__upload_offer(struct nest__upload *);
/* Puts it in its place; sync: and on disk, together with others that wait for the same. Frees it.
 */
int nest__upload_commit(struct nest__upload *, bool sync);
void nest__upload_abandon(struct nest__upload *); /* frees it; nothing is left of it */

/* -- listener -------------------------------------------------------------------------------- */
struct nest__listener {
    int fd;
    uint8_t kind;
    bool given; /* from systemd or inetd: never shut down; who waits there is the next server's */
    char name[112]; /* "127.0.0.1:8080", "[::]:8080", "unix:/path" */
};
extern struct nest__listener nest__listeners[NEST__LISTEN_MAX];
extern unsigned nest__listener_count;
/* Opens all of nest__config; says on stderr what failed; -errno. Of several, or given ones, accept
 * never blocks from here on. */
int nest__listen_open(void);
void nest__listen_close(void);      /* closes all; removes Unix sockets' files that it made */
int nest__listen_nonblocking(void); /* for worker models that poll: accept never blocks; -errno */
/* A stop: new clients are refused, and threads that wait in take or take_any wake. Clients in the
 * queues of our own listeners are still served: take and take_any return them without waiting, and
 * then -EINVAL. Returns true if all queues are empty. Where workers are processes, the supervisor
 * calls it again each time a worker has ended, until it returns true, because a client that still
 * waits needs another worker. */
bool nest__listen_stop(void);
/* Accepts one connection into *arrival. `nonblocking`: for the connection. 0; -EAGAIN: none;
 * -EINVAL: a stop, and nobody waits here any more; another -errno that ends no listener
 * (ECONNABORTED is retried inside; EINTR is not: the caller has a flag to look at). */
int nest__take(struct nest__listener *, struct nest__arrival *, bool nonblocking);
/* Waits for a connection of any listener; of several, -EAGAIN says that another worker was faster.
 */
int nest__take_any(struct nest__arrival *);
/* inetd's nowait: the one connection that this server is for. True once, and then there are no
 * listeners, and max_clients is 1: the workers serves it where it is, without another process, and
 * ends when it has. `nonblocking`: for the connection. */
bool nest__take_only(struct nest__arrival *, bool nonblocking);
/* Nobody can be taken, for descriptors or memory are short (-errno): one line a minute, not one a
 * client. `said`: zero before the first. */
void nest__scarce(_Atomic uint32_t *said, int error);
/* inetd's wait: ms that a server without any client waits before it ends as if by TERM; 0: for
 * ever. */
uint32_t nest__listen_idle_exit(void);

/* -- workers ------------------------------------------------------------------------------------
 */
/* Budgets and reserves what nest__config.max_clients needs, after start-up code (which may fork)
 * and before a socket opens; says on stderr what cannot fit; 0 or -errno. */
int nest__workers_prepare(void);
int nest__workers_run(
    void); /* serves until TERM or INT; exit status: 0 only if no client was cut */
/* workers_run, in place of 1: actions still run, so that the process must end without exit
 * handlers, which could wait for them. */
enum { NEST__ABANDONED = -1 };
/* What serving a client needs beside its session: a stack, a buffer. How many. */
unsigned nest__worker_needs(struct nest__need needs[NEST__NEEDS]);
/* Over how many processes maxClients are spread: a limit of a process is its alone. */
uint32_t nest__worker_processes(void);
/* Connections that a stop cut: whose message or delivery drainTimeout did not suffice for. */
uint64_t nest__cut(void);
void nest__cut_add(uint64_t clients);
/* HUP: reads the configuration again and sets what may change (nest__option.reload), all or
 * nothing, and says what it did. Worker models call it where no action is in the middle of reading
 * a setting, or, with threads, anywhere: what may change is read as it is. */
void nest__config_reload(void);
/* The same, and says nothing: another process says it. */
void nest__config_follow(void);
/* Supervisors and other programs: what systemd wants to know (sd_notify(3)); nothing without it.
 * `state`: "READY=1", "STOPPING=1", "WATCHDOG=1", lines of them. */
void nest__notify(const char *state);
uint32_t
nest__watchdog(void); /* ms between two "WATCHDOG=1" (half of what systemd waits); 0: none */

#endif
