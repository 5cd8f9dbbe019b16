/* seam.h: the one contract between the generated part, the engine, io, crew and listener.
 *
 * Part            supplies                                    may call
 * generated       nest__spec_*, tables                        nest.h (actions only)
 * engine/         "engine" below, nest.h                      nest__wait, nest__peer_text, platform
 * io/             "io" below                                  engine, platform
 * crew/           "crew" below                                engine, io, listener, platform
 * listener/       "listener" below                            platform
 * feature/x.*     its own functions, called at join points (nest__on_*), or a null/ header
 * One model per binary: direct calls, one translation unit (server.c includes the chosen files).
 * No file here includes another .c; server.c fixes the order: seam.h, hooks, platform, feature,
 * engine, io, listener, crew, config, main. */
#ifndef NEST_SEAM_H
#define NEST_SEAM_H

#ifndef _GNU_SOURCE /* accept4, signalfd; before the first system header of the unit */
#define _GNU_SOURCE 1
#endif

#include "nest.h"

/* -- sizes the generated part defines before including this -------------------------------------
 * NEST__RULES        pattern rules (>= 1; 1 with no rule active if there is none)
 * NEST__PARTS        most elements of any rule (>= 1)
 * NEST__THREAD_ROOM  uint16_t words of thread lists a session may have to keep (>= 1)
 * NEST__NFA_STATES   most NFA states of any rule (>= 1)
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
struct nest__rule {
    const char *name; /* its NAME, or "line N" */
    const char *file;
    uint32_t line;
    uint16_t parts;              /* elements */
    uint32_t threads;            /* without dfa: first word of its list in nest__match.threads */
    const struct nest__dfa *dfa; /* NULL: over the budget, run by its ordered thread list */
    const struct nest__nfa *nfa; /* for parts and thread lists; NULL if neither is needed */
};
extern const struct nest__rule nest__rules[NEST__RULES];
extern const char *const nest__state_names[]; /* [0] START, [1] DEFAULT, then as declared */
extern const unsigned nest__state_count;
extern const char nest__spec_name[];    /* "echo" */
extern const char nest__spec_file[];    /* "echo.nest" */
extern const char nest__model_name[];   /* "event" */
extern const char nest__tool_version[]; /* of the compiler: "nest 0.1.0" */
extern const bool nest__has_start;
enum { NEST__START_STATE, NEST__DEFAULT_STATE };

/* Writes the numbers of the pattern rules whose condition holds, ascending; returns how many. */
unsigned nest__spec_active(uint64_t states, unsigned last, uint16_t rules[NEST__RULES]);
/* actions.c */
extern const size_t nest__spec_vars_size;              /* 0: none */
void nest__spec_vars_init(nest_session *, void *vars); /* vars is zeroed */
enum { NEST__ACT_START = -1, NEST__ACT_END = -2 };
void nest__spec_act(nest_session *, void *vars, int rule); /* rule number, or one of the above */
int nest__spec_startup(int argc, char **argv);             /* < 0: go on; else exit status */

/* -- configuration: values of run-time options, filled by config/ before anything else runs -- */
enum { NEST__LISTEN_MAX = 16 };
struct nest__config {
    uint32_t max_clients;
    uint32_t input_buffer;  /* bytes */
    uint32_t output_buffer; /* bytes */
    uint32_t keep_limit;    /* bytes */
    uint32_t server_port;
    const char *server_name;
    const char *listen; /* addresses separated by blanks; NULL: all interfaces, server_port */
};
extern struct nest__config nest__config;
enum nest__option_kind { NEST__NUMBER, NEST__SIZE, NEST__TEXT, NEST__ADDRESSES };
struct nest__option { /* generated from the compiler's one table of options */
    const char *name;
    enum nest__option_kind kind;
    void *value; /* uint32_t * or const char ** in nest__config */
    uint32_t least, most;
    const char *initial; /* as the specification or the default has it */
    const char *help;
};
extern const struct nest__option nest__options[];
extern const unsigned nest__option_count;

/* -- sessions -------------------------------------------------------------------------------- */
typedef struct nest__ref {
    uint32_t slot, gen;
} nest__ref; /* the only name others may keep */

struct nest__chan { /* I/O belongs to channels; a session embeds channel 0 */
    int32_t fd;     /* script: the conversation's number */
    uint8_t kind;   /* enum nest__address_kind */
    uint8_t state;  /* NEST__CHAN_* */
    uint8_t io;     /* io's own (epoll: what is armed) */
    uint8_t stage;  /* 0: none */
};
enum {
    NEST__CHAN_EOF = 1,
    NEST__CHAN_GONE = 2,
    NEST__CHAN_MORE = 4, /* nothing was received yet, or the last receive filled its buffer */
    NEST__CHAN_SENT = 8, /* since the last receive, */
    NEST__CHAN_LATE = 16 /* and in more than one go: time has passed, and more may have come */
};

/* io, after a receive: whether it filled the room it had. */
static inline void nest__chan_received(struct nest__chan *chan, bool full) {
    chan->state &= NEST__CHAN_EOF | NEST__CHAN_GONE;
    chan->state |= full ? NEST__CHAN_MORE : 0;
}

/* io, after a send. */
static inline void nest__chan_sent(struct nest__chan *chan) {
    chan->state |= (chan->state & NEST__CHAN_SENT) != 0 ? NEST__CHAN_LATE : NEST__CHAN_SENT;
}

enum nest__phase {
    NEST__FREE,    /* not a session */
    NEST__READING, /* at a read point */
    NEST__ACTING,  /* an action runs, or waits at the door */
    NEST__ENDED,   /* END has run, the reason is counted; output may still leave */
};
enum {
    NEST__CLOSING = 1,
    NEST__CUT = 2 /* a wait of this action was cut short */,
    NEST__WAITING = 4,
    NEST__READY = 8 /* in the ready list */,
    NEST__STOPPING = 16,
    NEST__UNREAD = 32 /* input was left when it ended */,
    NEST__LINGERING = 64 /* ended and delivered: only waits for the client to close */
};

struct nest_session { /* one line of cache; user variables lie in a parallel slab */
    uint64_t states;
    struct nest__work *work; /* borrowed while not idle, else NULL */
    nest__ref self;
    struct nest__chan c0;
    uint32_t deadline, wheel_next, wheel_prev; /* one deadline; a wheel's or a list's links */
    uint32_t next;                             /* free list, ready list */
    uint16_t active;                           /* reserved for a known active set; 0 */
    uint8_t last, phase, reason, prio, flags, loop;
    union {                 /* the crew's own */
        void *waiter;       /* while NEST__WAITING: who waits at the door */
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
struct nest__out {
    enum { NEST__OUT_BYTES } kind;
    const void *p;
    uint64_t n;
};
enum nest__address_kind { NEST__TCP4, NEST__TCP6, NEST__UNIX, NEST__SCRIPT };
struct nest__arrival {
    int fd;
    uint8_t kind;
    uint8_t listener;
};

/* -- hooks: join points of advice, `static inline` in server.c, empty if nothing is enabled -----
 *     nest__on_open(s)                    before START
 *     nest__on_take(s, rule, bytes, n)    a pattern rule was decided; before its action
 *     nest__on_reply(s, bytes, n)         an item that a directive queues, whole; before a wait
 *     nest__on_states(s)                  after START, and at read points whose states or last seen
 *                                         state differ from those of the read point before
 *     nest__on_end(s)                     END has run; s->reason says why */

/* -- engine, called by io and crew. Results: NEST__WANT_* ------------------------------------ */
enum {
    NEST__WANT_READ = 1,
    NEST__WANT_WRITE = 2 /* output is queued */,
    NEST__WANT_AGAIN = 4 /* the visit's budget is spent; call nest__pump again with the rest */,
    NEST__WANT_END = 8 /* ended: deliver what is queued, close, nest__released */
};
enum nest__event { NEST__EVENT_EOF, NEST__EVENT_RESET, NEST__EVENT_DRAIN };
enum { NEST__VISIT_MESSAGES = 64, NEST__VISIT_IN = 64 * 1024, NEST__VISIT_OUT = 256 * 1024 };

/* Slot, gen and the vars slab are set. */
unsigned nest__open(nest_session *, const struct nest__arrival *);
unsigned nest__pump(nest_session *, struct nest__chan *, struct nest__window *);
/* While an action runs or waits (phase NEST__ACTING) it only notes the event and returns 0. */
unsigned nest__event(nest_session *, enum nest__event);
uint32_t nest__in_space(nest_session *, struct nest__chan *, uint8_t **); /* 0: use io's buffer */
/* Before a lease ends; -ENOMEM: the session is to be told NEST__EVENT_RESET. NULL: the window that
 * its running action reads from (for a door that lets others use the buffer). */
int nest__own(nest_session *, struct nest__window *);
int nest__out_next(nest_session *, struct nest__chan *, struct nest__out[], int n); /* how many */
void nest__out_sent(nest_session *, struct nest__chan *, uint64_t);
uint64_t nest__out_queued(const nest_session *, const struct nest__chan *);
bool nest__unread(const nest_session *); /* unread input may exist: close by lingering */
void nest__released(nest_session *);     /* nothing can name it any more; frees its work block */

/* A carrier runs one action at a time: a process, a thread, a loop. */
struct nest__carrier; /* engine's scratch of a carrier: parts, thread lists, pools of work blocks.
                         Zeroed memory is a new one; it may be megabytes, so the crew maps it:
                         neither on a stack nor in thread-local storage */
/* Crew: the one of this thread; NULL before there is one. */
struct nest__carrier *nest__carrier(void);
void nest__carrier_clear(struct nest__carrier *); /* frees its pools; it is as new */
void *nest__vars(const nest_session *); /* crew: its place in the slab; NULL if there are none */
/* [NEST_REASONS], crew places it: server scope. [NEST_OPEN] counts the connections that a crash
 * took with it, so that opened is the sum of all. */
extern _Atomic uint64_t *nest__ended;
/* For the report of a crash, async-signal-safe: the rule number or NEST__ACT_* whose action runs on
 * this carrier, <= -3 if none; and its session, NULL if none. */
int nest__current_rule(void);
nest_session *nest__current_session(void);

/* -- io: the door ---------------------------------------------------------------------------- */
enum nest__what { NEST__DRAINED /* until at most `mark` bytes are queued */ };
struct nest__wait {
    enum nest__what what;
    struct nest__chan *chan;
    uint64_t mark;
};
/* Waits; the only function of this side that the engine enters from inside an action. In loops the
 * action keeps its stack and the loop goes on on another. 0, -ECONNRESET, -ECANCELED, -ENOMEM.
 * The engine marks the session gone or cut itself: io calls no nest__event from inside. */
int nest__wait(nest_session *, const struct nest__wait *);
/* Sends now what the kernel takes, without waiting. 0 or -ECONNRESET. */
int nest__push(nest_session *, struct nest__chan *);
/* The peer of a channel as text, into `to`. */
void nest__peer_text(const struct nest__chan *, char *to, size_t size);

/* -- listener -------------------------------------------------------------------------------- */
struct nest__listener {
    int fd;
    uint8_t kind;
    char name[112]; /* "127.0.0.1:8080", "[::]:8080", "unix:/path" */
};
extern struct nest__listener nest__listeners[NEST__LISTEN_MAX];
extern unsigned nest__listener_count;
int nest__listen_open(void);   /* opens all of nest__config; says on stderr what failed; -errno */
void nest__listen_stop(void);  /* new clients are refused, whoever is in accept wakes with EINVAL */
void nest__listen_close(void); /* closes all; removes Unix sockets' files that it made */
int nest__listen_nonblocking(void); /* for crews that poll: accept never blocks; -errno */
/* Accepts one connection into *arrival. `nonblocking`: for the connection. 0; -EAGAIN: none;
 * -EINVAL: the listener was shut down; another -errno that ends no listener (ECONNABORTED is
 * retried inside; EINTR is not: the caller has a flag to look at). */
int nest__take(struct nest__listener *, struct nest__arrival *, bool nonblocking);
/* Waits for a connection of any listener; of several they must be nonblocking, and -EAGAIN says
 * that another carrier was faster. */
int nest__take_any(struct nest__arrival *);

/* -- crew ------------------------------------------------------------------------------------ */
/* Budgets and reserves what nest__config.max_clients needs, after start-up code (which may fork)
 * and before a socket opens; says on stderr what cannot fit; 0 or -errno. */
int nest__crew_prepare(void);
int nest__crew_run(void); /* serves until TERM or INT; exit status */

#endif
