/* simulate.h: what the files of the simulation share.
 *
 * draw.c draws what clients do, in place of poller/command.c. print.c prints it. talk.c models a
 * conversation: what was sent, and which replies are due. acts.c has the server's actions and
 * checks each against that model. meet.c lets conversations meet, post.c models what others send.
 * lines.c models the further channels that actions open. moments.c checks deadlines. reload.c draws
 * configurations, and knows which one applied when. newcomers.c checks which clients are accepted,
 * records.c what the engine keeps in memory. The simulation and the runtime are one compilation
 * unit, so that it can read all state. */
#ifndef NEST_SIMULATE_H
#define NEST_SIMULATE_H

#include "../../config/config.h"
#include "../../engine/engine.h"
#include "../../loop/loop.h"
#include "../../poller/script.h"
#include "../../workers/mailbox.h"

enum { SIM_MESSAGES = 16, SIM_IN = 160000, SIM_LAWS = 32, SIM_LINE_MOST = 3000, SIM_GROUPS = 140 };

enum sim_rule {            /* as tables.py has them */
                SIM_SAY,   /* SAY x: x */
                SIM_BIG,   /* BIG n: n bytes, in one directive */
                SIM_FLOOD, /* FLOOD n: n short ones */
                SIM_READ,  /* READ n: nest_read(n) */
                SIM_LINE,  /* LINE max: nest_read_line(max) */
                SIM_INTO,  /* INTO n: nest_read_into(n) */
                SIM_SKIP,  /* SKIP n: nest_skip(n) */
                SIM_NAP,   /* NAP ms: nest_sleep(ms) */
                SIM_KEEP,  /* KEEP n: nest_keep(n) */
                SIM_IDLE,  /* IDLE ms: nest_timeout(ms) */
                SIM_MODE,  /* MODE n: which TIMEOUT rules are active */
                SIM_QUIT,
                SIM_STUCK,
                SIM_DATA,  /* DATA, until a line with a dot; no dfa */
                SIM_PARTS, /* letters, digits, letters; no dfa */
                SIM_PEEK,  /* nest_pending, nest_flush */
                SIM_BLOCK, /* nest_block_begin, nest_block_end */
                SIM_GET,   /* GET name: nest_file_reply_path */
                SIM_PUT,   /* PUT name n: nest_file_receive */
                SIM_MEET,  /* MEET what group n: groups and messages (meet.c) */
                SIM_RULES,
                SIM_WRONG = SIM_RULES, /* no rule matches */
                SIM_LONG,              /* more than inputBuffer */
};

struct sim_message {
    uint8_t rule;
    bool broken;   /* LINE: without a line of at most max bytes */
    uint32_t at;   /* in talk.in */
    uint32_t head; /* bytes that the rule matches; WRONG, LONG: the server must end by this many */
    uint32_t body; /* bytes that the action reads */
    uint32_t tail; /* framing message: bytes that are skipped */
    uint32_t number;
    uint32_t name, version; /* of a file */
    uint8_t parts[3];       /* PARTS: their lengths */
};

struct sim_log { /* when each position was reached, ascending */
    uint32_t first, count, cap;
    struct {
        uint32_t position, time;
    } * entries;
};

enum sim_limit { /* as reload.c has the options */
                 SIM_LIMIT_READ,
                 SIM_LIMIT_WRITE,
                 SIM_LIMIT_IDLE,
                 SIM_LIMIT_LINGER,
                 SIM_LIMIT_DRAIN,
                 SIM_LIMIT_OUTPUT,
                 SIM_LIMIT_KEEP,
                 SIM_LIMITS
};

enum sim_wait { SIM_NO_WAIT, SIM_REPLY, SIM_BYTE, SIM_MESSAGE, SIM_PAUSE, SIM_WORK, SIM_FURTHER };

struct sim_talk {          /* one conversation */
    struct sim_talk *next; /* in sim.talks */
    uint32_t who;
    nest_session *session; /* from its START until it is closed */
    uint32_t gen;
    /* what the client does */
    uint8_t *in;
    uint32_t in_n, sent;
    bool eof, reset;
    uint64_t room; /* bytes that the client still reads; UINT64_MAX: all */
    uint32_t calm; /* draws until the client acts again */
    /* what the server must do */
    struct sim_message messages[SIM_MESSAGES];
    uint32_t count, at; /* the next message */
    uint32_t taken;     /* bytes of `in` consumed by rules and actions */
    uint8_t *want;      /* the replies; got: bytes that the client has; said: bytes that the
                           engine has promised to deliver */
    size_t want_n, want_cap, got, said;
    enum nest_reason end; /* the reason that END must get; NEST_OPEN: any justified one */
    bool astray;          /* the unread bytes are the rest of a body */
    bool dead;            /* no pattern rule is active */
    bool mode_tick, mode_late;
    int failed;        /* errno of the first directive of this action that failed */
    bool acting, over; /* over: END has begun */
    uint32_t faults;   /* faults injected before it was opened */
    uint64_t took;     /* bytes of the body that its action read */
    bool file_cut;     /* a file reply was cut short */
    bool getting;      /* a file is the reply: */
    uint8_t file_mark[5];
    uint64_t direct; /* bytes of it that were sent past the queue and not reported yet */
    uint32_t file, file_n, file_at_first; /* its version, how much, and what was there before */
    uint32_t starts, ends;
    uint32_t kept;
    uint64_t out_before, kept_before; /* when the configuration was last read again */
    /* time */
    struct sim_log arrived, queued; /* positions in in, in want */
    uint32_t received;              /* of in, by the server */
    bool idle_own;                  /* idle limit of its own: */
    uint32_t idle;                  /* 0: none */
    uint32_t point, drained;        /* read point; when the queue was last found empty */
    uint32_t paused;                /* start of waiting for output at a read point */
    uint32_t filled;                /* start of waiting for output */
    uint32_t progress;              /* when the client last took output, if taken_once */
    bool taken_once;
    bool is_paused, out; /* out: output was queued after the last step */
    uint32_t since;      /* when matching of the unfinished message began, without pauses */
    bool unfinished;
    bool worked, worked_before; /* an action has waited for work, until work_ended */
    uint32_t work_ended;
    bool told;    /* of a stop, while its action waited */
    bool late;    /* accepted during the stop, of which it is told before it waits */
    bool lingers; /* since */
    uint32_t lingers_from;
    enum sim_wait wait;
    uint32_t wait_from, wait_ms; /* PAUSE: how long; FURTHER: at most, 0: for ever */
    struct sim_line *line;       /* FURTHER: which one */
    bool line_reads;             /* it waits for bytes */
    /* what others send to it */
    struct sim_letter *letters;  /* that wait, the oldest first */
    uint64_t waits;              /* bytes of them, as they count */
    bool behind;                 /* it has not kept up, and must end; */
    bool unlucky;                /* for lack of memory */
    bool handed;                 /* the oldest has been queued */
    uint64_t joined[SIM_GROUPS]; /* when it has joined; 0: it is no member */
};

struct sim_line {          /* a further channel, and its other side */
    struct sim_line *next; /* in sim.lines */
    uint32_t who, gen;     /* gen: of its session, at slot */
    uint32_t slot;
    unsigned number;
    struct sim_talk *talk; /* NULL: channel 0 is closed */
    /* what the other side does */
    uint32_t sent;
    bool eof, reset;
    uint64_t room;
    /* bytes that the action has read; that it has written; that have arrived */
    uint32_t read;
    uint64_t want, got;
    uint32_t filled; /* when output began to wait, */
    uint32_t moved;  /* and when some of it last arrived */
    bool closing;    /* closed by its action, or by the end of its session; */
    bool dropped;    /* some of its output need not arrive */
    bool lost;       /* an operation has failed, and it can no longer be used */
    uint32_t faults; /* that had struck before it was opened */
};

extern struct sim {
    uint64_t seed, drawn;   /* drawn: random numbers so far */
    uint32_t conversations; /* to be opened in all */
    bool verbose;
    struct sim_talk *talks; /* that are opened and not closed */
    struct sim_line *lines;
    uint32_t lines_n;
    uint32_t opened, closed, live, most; /* most: clients at once */
    bool lossy;                          /* who is behind loses the oldest messages */
    bool draining;
    uint32_t stop_at; /* the end of drainTimeout; 0: never */
    uint64_t checks;
} sim;
#define SIM_SEED sim.seed
#define SIM_DRAWN sim.drawn

/* A broken invariant: says it with the seed, and ends the process. */
_Noreturn void sim_broken(const struct sim_talk *, const char *format, ...) NEST_FORMAT(2, 3);
uint32_t sim_random(uint32_t below); /* of the seed; 0 for 0 */
bool sim_chance(uint32_t percent);
uint32_t sim_of(const uint32_t *values, unsigned count);
#define DRAW(...)                                                                                  \
    sim_of((const uint32_t[]){__VA_ARGS__},                                                        \
           sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
/* In place of nest__say. */
void draw_begin(void);
void draw_term(void);     /* perhaps a TERM comes now */
bool draw_refers(void);   /* actions of this life queue what is not copied */
bool draw_warm(void);     /* files of this life are always in memory */
bool draw_is_later(void); /* operations of this life are delayed */
/* Memory or a stack has failed while it was there: it may end at any time. */
static inline bool sim_pardoned(const struct sim_talk *talk) {
    return talk->faults != nest__faults_struck;
}

/* -- talk.c */
void sim_on_open(nest_session *);
void sim_on_take(nest_session *, const struct nest__rule *, const uint8_t *, uint32_t);
void sim_on_timer(nest_session *, const struct nest__timer *);
void sim_on_reply(nest_session *, const void *, size_t);
void sim_on_file(nest_session *, uint64_t n);
void sim_on_acted(nest_session *, uint64_t);
void sim_on_end(nest_session *);
void sim_on_mail(nest_session *, uint32_t kind, const uint8_t *, uint32_t n);
struct sim_talk *talk_find(uint32_t who);
struct sim_talk *talk_of(const nest_session *);
void talk_want(struct sim_talk *, const void *, size_t);
void talk_free(struct sim_talk *);
uint32_t talk_received(const struct sim_talk *); /* of what it sent, by the server */
void talk_ending(struct sim_talk *, const nest_session *);

/* -- acts.c */
uint64_t acts_restored(struct sim_talk *);
void acts_ask(struct sim_talk *, enum sim_wait);
bool acts_told(struct sim_talk *, const char *what, bool fails);
bool acts_say_text(struct sim_talk *, const char *);
bool acts_say_number(struct sim_talk *, const char *, long);
void acts_took(struct sim_talk *, const void *, uint32_t, const char *what);

/* -- lines.c */
void lines_act(struct sim_talk *); /* an action does something with its lines */
struct sim_line *line_find(uint32_t who);
void line_out(struct sim_line *, const uint8_t *, size_t);
void line_closed(struct sim_line *, bool cut);
void lines_leave(struct sim_talk *); /* channel 0 of this conversation is closed */
void lines_check(void);              /* after each step */
uint32_t lines_next(void);           /* when something is due for one; 0 */
/* The other side of one does something, by these tempers; PASS: nothing now. */
struct nest__command lines_draw(bool last, uint32_t stall, uint32_t reset);

/* -- meet.c */
void meet_begin(void);
bool meet_draws(void); /* perhaps something is about meeting */
void meet_draw(char line[64], struct sim_message *);
void meet_act(struct sim_talk *, const struct sim_message *);
void meet_start(struct sim_talk *);
void meet_end(struct sim_talk *);
bool meet_elsewhere(void); /* perhaps another loop sends something */

/* -- post.c */
uint64_t post_clock(void);                  /* in place of nest__clock_ns for groups */
bool post_reaches(const struct sim_talk *); /* what is sent to it */
uint64_t post_ended(void);                  /* an id that was one */
void post_begin(void);                      /* before something is sent, */
void post_sent(struct sim_talk *to, const uint8_t *, uint32_t n); /* and when it was sent */
void post_sent_group(uint32_t group, const uint8_t *, uint32_t n, const struct sim_talk *except);
/* Another loop has sent it to `who`; 0: to the group. */
#define POST_NOBODY UINT32_MAX
void post_mailed(uint32_t who, uint32_t group, uint64_t sent, const uint8_t *, uint32_t n);
bool post_take(struct nest__mail *); /* in place of nest__mailbox_take */
void post_settle(void);              /* before each action */
void post_left(struct sim_talk *, uint32_t group);
void post_said(struct sim_talk *, const void *, size_t);
void post_leave(struct sim_talk *); /* its END has run */
void post_free(struct sim_talk *);
void post_check(void); /* after each step */
uint32_t post_end(void);

/* -- files.c */
void files_begin(void); /* makes fileRoot */
enum { SIM_FILE = 4096 };
uint8_t file_fixed(uint32_t at); /* of a file that never changes: */
int file_fixed_fd(void);
void files_closed(void);
void files_end(void);
uint8_t file_byte(uint32_t version, uint32_t at);
uint32_t file_new_version(uint32_t name, uint32_t size);
void files_reply_bytes(struct sim_talk *, const uint8_t *, size_t);
void files_get(struct sim_talk *, const struct sim_message *);
void files_put(struct sim_talk *, const struct sim_message *);

/* -- moments.c: after each step, and where something ends by its time */
void moment_step(struct sim_talk *);
uint32_t moment_next(struct sim_talk *); /* the next moment at which something may happen; 0 */
void moment_timer(struct sim_talk *, uint32_t after);
void moment_timeout(struct sim_talk *); /* it ended by NEST_TIMEOUT at a read point */
void moment_wait_timeout(struct sim_talk *);

/* -- reload.c */
void reload_begin(void); /* the first configuration */
void reload_end(void);
void reload_draw(void);  /* another one, to be read by the next command */
void reload_check(void); /* after each step */
/* The values that were in force at some time since then: how many. */
unsigned reload_limits(enum sim_limit, uint32_t since, uint32_t to[SIM_LAWS]);

/* -- newcomers.c: in place of the listener; after each step; and what is told to it */
int newcomers_take(struct nest__listener *, struct nest__arrival *, bool nonblocking);
int newcomers_arm(bool on);
void newcomers_pause(int error); /* in place of nest__accept_pause, where a session is served */
void newcomers_check(void);
void newcomers_refused(void);
void newcomers_said(void);
void newcomers_released(void);
uint32_t newcomers_next(void); /* when they are tried again; 0 */

/* -- print.c */
void print_command(const struct nest__command *);

/* -- records.c */
void record_check(const nest_session *);
void record_check_all(void);
void record_sleep(bool look); /* in place of nest__poller_sleep in loop.c */

#endif
