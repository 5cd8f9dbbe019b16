/* engine.h: what the engine's files share: the running action, a busy session's work block, a
 * worker's scratch.
 *
 * Included by engine/ and by services; worker models include it for the size of struct nest__worker
 * alone. */
#ifndef NEST_ENGINE_H
#define NEST_ENGINE_H

#include "../channel/pool.h"

/* A match not yet decided, by an automaton or by rules apart. Every rule in `rules` is live and has
 * seen the first `fed` unread bytes; ascending by rule. */
struct nest__match {
    struct nest__run run;
    uint32_t fed;
    uint16_t live; /* apart: how many */
    struct {
        uint16_t rule;
        uint16_t state; /* of its dfa; without one, how many threads it has */
    } rules[NEST__STANDALONE > 0 ? NEST__STANDALONE : 1];
    uint16_t threads[NEST__THREAD_WORDS];
};
enum nest__clock {                   /* what s->until.deadline is the end of */
                   NEST__CLOCK_NONE, /* of nothing: something has happened since it was answered */
                   NEST__CLOCK_IDLE,
                   NEST__CLOCK_TIMER,
                   NEST__CLOCK_READ,
                   NEST__CLOCK_WRITE
};
enum nest__verdict { NEST__DECIDED, NEST__NO_MATCH, NEST__UNDECIDED, NEST__OVERFLOWED };

/* The action that runs: lies on the stack that runs it, so that it survives a wait. */
struct nest__action {
    nest_session *session;
    struct nest__window *window; /* what it was matched in; NULL in START and END */
    int rule;
    struct nest_message message; /* in the window's buffer or in the session's rest */
    bool parsed;                 /* ends is valid */
    bool copied;                 /* copies is valid */
    bool lost; /* a part had no memory: the session may not be marked on a helper */
    /* bytes of unread input that it took */
    uint64_t took;
    uint32_t tags[NEST__TAGS];  /* what its rule's automaton has left */
    uint32_t ends[NEST__PARTS]; /* of each element, relative to the message's start */
    char *copies[NEST__PARTS + 1];
};

struct nest__block { /* of an arena: private copies of one action's parts */
    struct nest__block *next;
    size_t used, size;
    char bytes[];
};

struct nest__work { /* borrowed from the worker while a session is not idle */
    struct nest__work *next;
    uint8_t *rest; /* owned input: the running action's message if it was kept, then unread bytes */
    uint32_t rest_cap, rest_at, rest_n;
    struct nest__output out; /* of channel 0 */
    uint32_t since;          /* while matching: when the message's first byte was looked at */
    uint32_t paused;         /* while output is awaited: since when nothing is read */
    char *text;              /* what nest_read and nest_read_line give to an action */
    size_t text_cap;
    struct nest__block *arena;
    struct nest__service_state services; /* generated; zero in a new block */
    bool matching;                       /* match is of the unread bytes */
    /* No block for the pool: it is what was lent of the reserve, or its text is large. */
    bool apart;
    struct nest__match match;
};

struct nest__frame { /* of closure's explicit stack */
    uint16_t state;
    uint16_t target;
    uint32_t saved;
};
struct nest__threads { /* an ordered thread list; with marks, those of thread i start at i * parts
                        */
    uint16_t count;
    uint16_t states[NEST__NFA_STATES];
};
struct nest__scratch {
    uint32_t stamp;
    uint32_t seen[NEST__NFA_STATES]; /* == stamp: already in the list being made */
    struct nest__frame frames[NEST__NFA_STATES];
    struct nest__threads lists[2];
    uint32_t path[NEST__PARTS];
    uint32_t marks[2][(size_t)NEST__NFA_STATES * NEST__PARTS];
};
enum { NEST__SPARE_WORK = 64, NEST__KEPT = 64 * 1024 /* of what only some actions need */ };
struct nest__worker {
    struct nest__action *action; /* NULL: none runs */
    struct nest__work *spare;
    uint32_t spares;
    /* For the running action that finds no memory; NULL: none, or lent. */
    struct nest__work *reserve;
    struct nest__work *lent;   /* the block that is to be the reserve again */
    struct nest__queue blocks; /* empty blocks for the queues of further channels, */
    uint32_t blocks_n;         /* so many */
    struct nest__match match;  /* of a message that may be decided at once */
    struct nest__scratch scratch;
};

enum {
    NEST__BEHIND_REST = 4096, /* room for what comes behind a message of inputBuffer bytes */
    NEST__ARENA = 4096,       /* least block of an arena */
    NEST__GIVEN = 256         /* least room for what $read gives */
};

/* -- work.c */
struct nest__work *nest__borrow(nest_session *); /* its block, taken if it has none; NULL: ENOMEM */
void nest__settle(nest_session *);               /* gives it back if the session is idle */
/* No memory is left: the running action of this session gets the reserve, a block with room for
 * output and parts. False: there is none, or no action runs. */
bool nest__lend(nest_session *);
/* It is to keep its block for longer than a visit: if that is the reserve, another is made. False:
 * there is no memory for one. */
bool nest__lent_long(nest_session *);
int nest__rest_room(struct nest__work *, uint32_t cap); /* the rest moves to the block's start */
int nest__rest_add(nest_session *, const uint8_t *, uint32_t);
/* The same behind a running action's message, which stays: room for `n` unread bytes in all. */
int nest__rest_behind(nest_session *, struct nest__action *, uint32_t n);
char *nest__arena_take(nest_session *, size_t); /* NULL: ENOMEM */
void nest__arena_clear(struct nest__work *);    /* keeps a block, so that warm requests need none */

/* -- threads.c */
enum nest__on_match { NEST__PASS_OVER, NEST__STOP_AT };
void nest__threads_begin(struct nest__scratch *);
bool nest__threads_add(struct nest__scratch *, const struct nest__nfa *, uint16_t from, unsigned to,
                       unsigned parts, uint32_t at, enum nest__on_match);

/* -- matcher.c */
/* Feeds what match has not seen of the n unread bytes at p. With the first of them it begins, for
 * the rules that are active in these states; `fed` is 0 until then. DECIDED: run.best, best_n. */
enum nest__verdict nest__match_feed(struct nest__match *, struct nest__scratch *, uint64_t states,
                                    unsigned last, const uint8_t *p, uint32_t n, bool eof);

/* -- parts.c */
/* Part n >= 1 of the rule's, in place. */
nest_bytes nest__part(struct nest__action *, struct nest__scratch *, unsigned n);

/* -- output.c */
void nest__out_drop(nest_session *);
/* Room for up to n > 0 bytes behind the queue, at *p; waits while it is full. How many, or -1. */
int64_t nest__out_space(nest_session *, size_t n, uint8_t **p);
void nest__out_added(nest_session *, size_t n); /* written there; the action has not waited since */

/* -- clock.c */
/* When the batch that waits is overdue; begins one if nobody asked before. 0: never. */
uint32_t nest__output_deadline(struct nest__output *);
uint32_t nest__out_deadline(nest_session *); /* of channel 0 */
bool nest__out_overdue(nest_session *);
void nest__clock_bytes(nest_session *); /* bytes have come */

/* -- wait.c */
/* A directive fails because nest__fails. -1, errno. */
int nest__refuse(nest_session *);
/* A directive fails, and every later one of its action; its connection ends with it. -1, errno. */
int nest__cut_short(nest_session *, int error);
/* The client does not take what it was sent: its connection is cut. -1, errno. */
int nest__unsent(nest_session *);
/* nest__wait, for the running action. */
int nest__wait_in_fiber(nest_session *, const struct nest__wait *);
/* Until at most `mark` bytes are queued. 0, or -1 and errno. */
int nest__await_output(nest_session *, uint64_t mark);
/* NEST__INPUT. How many; 0: end of file; -1 and errno. */
int64_t nest__await_input(nest_session *, uint8_t *into, uint32_t room, uint32_t deadline);
/* NEST__WORK. What work returned: no failure of the connection. */
int nest__await_work(nest_session *, int (*work)(void *), void *arg);

/* -- input.c */
/* Whether input may not be taken now; errno says why. */
bool nest__input_fails(nest_session *);
/* The next unread bytes, at most `most`, in place; waits for some. How many; 0: end of file; -1 and
 * errno. They stay there until the action waits for input again, and unread until taken. */
int64_t nest__input_chunk(nest_session *, uint64_t most, const uint8_t **p);
void nest__input_taken(nest_session *, uint32_t n);

/* -- budget.c: bytes of the rooms of a work block, at most: unread input, copies, what $read gives
 */
uint64_t nest__rest_most(void);
uint64_t nest__arena_most(void);
uint64_t nest__given_most(void);

/* The action of this session, NULL if none runs. */
static inline struct nest__action *nest__acting(const nest_session *s) {
    struct nest__worker *worker = nest__worker();
    struct nest__action *action = worker == NULL ? NULL : worker->action;
    return action != NULL && action->session == s ? action : NULL;
}

/* A directive cannot do what it should: an earlier one of this action was cut short, or nobody is
 * there any more. */
static inline bool nest__fails(const nest_session *s, const struct nest__action *action) {
    return (s->c0.state & (NEST__CHAN_GONE | NEST__CHAN_CUT)) != 0 || (s->flags & NEST__CUT) != 0 ||
           (action != NULL && action->lost);
}

/* The unread bytes, wherever they are. window: what is being worked on, NULL if there is none. */
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

/* Where bytes of the action's message are now: a wait may have moved it. `message`: where it was.
 */
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
