/* engine.h: what the engine's files share: the running action, a busy session's work block, a
 * worker's scratch.
 *
 * Included by engine/ and by services; worker models include it for the size of struct nest__worker
 * alone. */
#ifndef NEST_ENGINE_H
#define NEST_ENGINE_H

#include "../channel/pool.h"
#include "../service/backtracking/backtracking.h"
#include "../service/processors/processors.h"

/* An undecided match, by the product automaton or by standalone rules. Every rule in `rules` is
 * live and has read the first `fed` unread bytes. The rules are in ascending order. */
struct nest__match {
    struct nest__run run;
    uint32_t fed;
    uint16_t live; /* standalone: the number of rules */
    struct {
        uint16_t rule;
        uint16_t state; /* of its DFA; of a rule without one, the number of its threads */
    } rules[NEST__STANDALONE > 0 ? NEST__STANDALONE : 1];
    uint16_t threads[NEST__THREAD_WORDS];
};
enum nest__clock {                   /* which limit s->until.deadline belongs to */
                   NEST__CLOCK_NONE, /* none: an event came after the limit was last set */
                   NEST__CLOCK_IDLE,
                   NEST__CLOCK_TIMER,
                   NEST__CLOCK_READ,
                   NEST__CLOCK_WRITE
};
enum nest__verdict {
    NEST__DECIDED,
    NEST__NO_MATCH,
    NEST__UNDECIDED,
    NEST__OVERFLOWED,
    NEST__EXCEEDED /* libpcre2 needs more than its limits */
};

/* The running action. It is on the stack of the action's fiber, so that it survives a wait. */
struct nest__action {
    nest_session *session;
    struct nest__window *window; /* the input it was matched in; NULL in START and END */
    int rule;
    struct nest_message message; /* in the window's buffer or in the session's rest */
    bool parsed;                 /* ends is valid */
    bool copied;                 /* copies is valid */
    bool lost;     /* no memory for a part. A helper may not set this in the session itself */
    uint64_t took; /* bytes of unread input that the action consumed */
    uint32_t tags[NEST__TAGS];  /* the registers of the rule's automaton at the match */
    uint32_t ends[NEST__PARTS]; /* where each element ends, from the message's start */
    char *copies[NEST__PARTS + 1];
};

struct nest__block { /* of an arena, which holds an action's copies of parts */
    struct nest__block *next;
    size_t used, size;
    char bytes[];
};

struct nest__work { /* borrowed from the worker while a session is not idle */
    struct nest__work *next;
    uint8_t
        *rest; /* copied input: the running action's message if it was kept, then unread bytes */
    uint32_t rest_cap, rest_at, rest_n;
    struct nest__output out; /* of channel 0 */
    uint32_t since;          /* while matching: when the message's first byte was matched */
    uint32_t paused;         /* while output is awaited: when reading stopped */
    char *text;              /* the result of nest_read or nest_read_line */
    size_t text_cap;
    struct nest__block *arena;
    struct nest__service_state services; /* generated; zero in a new block */
    bool matching;                       /* `match` is about the unread bytes */
    bool apart; /* it does not go back to the pool: it is the reserve, or its text is large */
    struct nest__match match;
};

struct nest__frame { /* of the explicit stack of a closure's depth-first search */
    uint16_t state;
    uint16_t target;
    uint32_t saved;
};
struct nest__threads { /* in order of priority. The marks of thread i start at i * parts */
    uint16_t count;
    uint16_t states[NEST__NFA_STATES];
};
struct nest__scratch {
    uint32_t stamp;
    uint32_t seen[NEST__NFA_STATES]; /* equal to stamp: the state is in the new list */
    struct nest__frame frames[NEST__NFA_STATES];
    struct nest__threads lists[2];
    uint32_t path[NEST__PARTS];
    uint32_t marks[2][(size_t)NEST__NFA_STATES * NEST__PARTS];
    struct nest__backtracker *backtracker; /* stays for as long as the worker */
};
enum {
    NEST__SPARE_WORK = 64,  /* work blocks that a worker keeps */
    NEST__KEPT = 64 * 1024, /* bytes that a kept block may have for what few actions need */
};
struct nest__worker {
    struct nest__action *action; /* NULL: none runs */
    struct nest__work *spare;
    uint32_t spares;
    struct nest__work *reserve; /* for an action that gets no memory; NULL: it is lent */
    struct nest__work *lent;    /* this block becomes the reserve again */
    struct nest__queue blocks;  /* empty blocks for the queues of further channels */
    uint32_t blocks_n;          /* the number of these blocks */
    bool in_block;              /* the running action is in a `$block`, and may block */
    struct nest__match match;   /* used while a session without a work block is matched */
    struct nest__scratch scratch;
};

enum {
    NEST__BEHIND_REST = 4096, /* bytes for input behind a message of inputBuffer bytes */
    NEST__ARENA = 4096,       /* size of an arena's smallest block */
    NEST__GIVEN = 256         /* smallest buffer for the result of $read */
};

/* -- work.c */
struct nest__work *nest__borrow(nest_session *); /* its block, or a new one; NULL: no memory */
void nest__settle(nest_session *);               /* returns the block if the session is idle */
/* Without memory: gives the session's running action the reserve, a block with space for output and
 * parts. False: the reserve is lent, or no action runs. */
bool nest__lend(nest_session *);
/* The session keeps its block for longer than a visit. If the block is the reserve, a new reserve
 * is allocated. False: there is no memory for it. */
bool nest__lent_long(nest_session *);
/* Makes space for `cap` bytes of the rest, which moves to the start of its buffer. 0 or -ENOMEM. */
int nest__rest_room(struct nest__work *, uint32_t cap);
int nest__rest_add(nest_session *, const uint8_t *, uint32_t);
/* Makes space for `n` unread bytes behind a running action's message, which does not move. */
int nest__rest_behind(nest_session *, struct nest__action *, uint32_t n);
char *nest__arena_take(nest_session *, size_t); /* NULL: ENOMEM */
void nest__arena_clear(struct nest__work *);    /* keeps one block for the next request */

/* -- threads.c */
enum nest__on_match { NEST__PASS_OVER, NEST__STOP_AT };
void nest__threads_begin(struct nest__scratch *);
bool nest__threads_add(struct nest__scratch *, const struct nest__nfa *, uint16_t from, unsigned to,
                       unsigned parts, uint32_t at, enum nest__on_match);

/* -- matcher.c */
/* Feeds the match those of the n unread bytes at p that it has not read. A match with `fed` 0
 * starts with the rules that are active in these states. DECIDED: the result is run.best,
 * run.best_n. */
enum nest__verdict nest__match_feed(struct nest__match *, struct nest__scratch *, uint64_t states,
                                    unsigned last, const uint8_t *p, uint32_t n, bool eof);

/* -- parts.c */
/* Part n >= 1 of the action's message, not copied. */
nest_bytes nest__part(struct nest__action *, struct nest__scratch *, unsigned n);

/* -- output.c */
void nest__out_drop(nest_session *);
/* Counts bytes of a file that were sent without being queued. */
void nest__out_passed(nest_session *, uint64_t n);
/* Reserves up to n > 0 bytes at the queue's end, at *p; waits while the queue is full. Returns how
 * many, or -1 and errno. */
int64_t nest__out_space(nest_session *, size_t n, uint8_t **p);
/* Adds n bytes that were written there. The action has not waited since nest__out_space. */
void nest__out_added(nest_session *, size_t n);

/* -- clock.c */
/* When to call nest__output_overdue; 0: never. The first call starts the time. */
uint32_t nest__output_deadline(struct nest__output *);
/* Whether the receiver has made no progress for writeTimeout, or too little for minimumRate. Takes
 * the look at its progress that is due; the next deadline is later then. */
bool nest__output_overdue(const struct nest__chan *, struct nest__output *);
uint32_t nest__out_deadline(nest_session *); /* of channel 0 */
bool nest__out_overdue(nest_session *);
void nest__clock_bytes(nest_session *); /* bytes were received */

/* -- wait.c */
/* Fails a directive for which nest__fails is true. Returns -1 and sets errno. */
int nest__refuse(nest_session *);
/* Fails a directive and all later ones of its action; the connection ends after the action. Returns
 * -1 and sets errno. */
int nest__cut_short(nest_session *, int error);
/* Cuts the connection of a client that does not read its output. Returns -1 and sets errno. */
int nest__unsent(nest_session *);
/* nest__wait, for the running action. */
int nest__wait_in_fiber(nest_session *, const struct nest__wait *);
/* Waits until at most `mark` bytes are queued. Returns 0, or -1 and errno. */
int nest__await_output(nest_session *, uint64_t mark);
/* Waits for input (NEST__INPUT). Returns how many bytes; 0: end of file; -1 and errno. */
int64_t nest__await_input(nest_session *, uint8_t *into, uint32_t room, uint32_t deadline);
/* Waits for work (NEST__WORK); a thread of option processors does it itself. Returns the result of
 * `work`, which never fails the connection. */
int nest__await_work(nest_session *, int (*work)(void *), void *arg);

/* -- input.c */
/* True: input may not be consumed now; errno says why. */
bool nest__input_fails(nest_session *);
/* Waits for unread bytes and points *p at them, without a copy. Returns how many, at most `most`;
 * 0: end of file; -1 and errno. They stay there until the action waits for input again, and they
 * stay unread until nest__input_taken. */
int64_t nest__input_chunk(nest_session *, uint64_t most, const uint8_t **p);
void nest__input_taken(nest_session *, uint32_t n);

/* -- budget.c: the most bytes of a work block's buffers: unread input, parts, results of $read */
uint64_t nest__rest_most(void);
uint64_t nest__arena_most(void);
uint64_t nest__given_most(void);

/* The running action of this session; NULL: none runs. */
static inline struct nest__action *nest__acting(const nest_session *s) {
    struct nest__worker *worker = nest__worker();
    struct nest__action *action = worker == NULL ? NULL : worker->action;
    return action != NULL && action->session == s ? action : NULL;
}

/* True: every directive fails, because an earlier one of this action was cut short or because the
 * client is gone. */
static inline bool nest__fails(const nest_session *s, const struct nest__action *action) {
    return (s->c0.state & (NEST__CHAN_GONE | NEST__CHAN_CUT)) != 0 || (s->flags & NEST__CUT) != 0 ||
           (action != NULL && action->lost);
}

/* What needs the loop stands between these two, in a function that is not inlined: the action may
 * run on a thread of option processors, and errno is another one on the loop's. */
static inline struct nest__trip *nest__at_home(nest_session *s) {
    return NEST__PROCESSORS ? nest__processors_home(s) : NULL;
}
static inline void nest__from_home(struct nest__trip *trip) {
    if (NEST__PROCESSORS) {
        nest__processors_go(trip);
    }
}

/* The unread bytes: in the window, or in the session's rest. window: that of the current visit;
 * NULL: none. */
static inline const uint8_t *nest__unread_bytes(const nest_session *s,
                                                const struct nest__window *window, uint32_t *n) {
    if (window != NULL && window->lent) {
        *n = window->n;
        return window->p;
    }
    if (s->work == NULL || s->work->rest_n == 0) {
        *n = 0;
        return NULL;
    }
    *n = s->work->rest_n;
    return s->work->rest + s->work->rest_at;
}

/* Where `p` is now, if it pointed into the action's message. A wait may have moved the message;
 * `message` is where it was before. */
static inline const uint8_t *nest__source(const struct nest__action *action, const uint8_t *message,
                                          const void *p) {
    uintptr_t offset = (uintptr_t)p - (uintptr_t)message;
    return action != NULL && offset < action->message.n ? action->message.p + offset : p;
}

static inline void nest__consume(nest_session *s, struct nest__window *window, uint32_t n) {
    if (window != NULL && window->lent) {
        window->p += n;
        window->n -= n;
    } else if (n > 0) {
        s->work->rest_at += n;
        s->work->rest_n -= n;
    }
}

#endif
