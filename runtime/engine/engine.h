/* engine.h: what the engine's files share: the running action, a busy session's work block, a
 * carrier's scratch.
 *
 * Included by engine/ only (crews need the size of struct nest__carrier, nothing else of it). */
#ifndef NEST_ENGINE_H
#define NEST_ENGINE_H

#include "../seam.h"

/* A match not yet decided. Every rule in `rules` is live and has seen the first `fed` unread
 * bytes; ascending by rule. */
struct nest__match {
    uint32_t fed;
    uint32_t best_n; /* 0: no rule has accepted */
    uint16_t best;
    uint16_t live;
    struct {
        uint16_t rule;
        uint16_t state; /* of its dfa; without one, how many threads it has */
    } rules[NEST__RULES];
    uint16_t threads[NEST__THREAD_ROOM];
};
enum nest__verdict { NEST__DECIDED, NEST__NO_MATCH, NEST__UNDECIDED, NEST__OVERFLOWED };

/* The action that runs: lies on the stack that runs it, so that it survives a wait. */
struct nest__action {
    nest_session *session;
    struct nest__window *window; /* what it was matched in; NULL in START and END */
    int rule;
    const uint8_t *p; /* the message: in the window's buffer or in the session's rest */
    uint32_t n;
    bool parsed;                /* ends is valid */
    bool copied;                /* copies is valid */
    uint32_t ends[NEST__PARTS]; /* of each element, relative to p */
    char *copies[NEST__PARTS + 1];
};

struct nest__block { /* of an arena: private copies of one action's parts */
    struct nest__block *next;
    size_t used, size;
    char bytes[];
};
struct nest__kept { /* $keep; the user's bytes follow */
    union {
        struct nest__kept *next;
        max_align_t align;
    } head;
};

struct nest__work { /* borrowed from the carrier while a session is not idle */
    struct nest__work *next;
    uint8_t *rest; /* owned input: the running action's message if it was kept, then unread bytes */
    uint32_t rest_cap, rest_at, rest_n;
    uint8_t *out; /* queued output */
    size_t out_cap, out_at, out_n;
    struct nest__block *arena;
    struct nest__kept *kept;
    size_t kept_n;
    bool matching; /* match is of the unread bytes */
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
enum { NEST__SPARE_WORK = 64 };
struct nest__carrier {
    struct nest__action *action; /* NULL: none runs */
    struct nest__work *spare;
    uint32_t spares;
    struct nest__match match; /* of a message that may be decided at once */
    struct nest__scratch scratch;
};

/* -- work.c */
struct nest__work *nest__borrow(nest_session *); /* its block, taken if it has none; NULL: ENOMEM */
void nest__settle(nest_session *);               /* gives it back if the session is idle */
int nest__rest_room(struct nest__work *, uint32_t cap); /* the rest moves to the block's start */
int nest__rest_add(nest_session *, const uint8_t *, uint32_t);
char *nest__arena_take(nest_session *, size_t); /* NULL: ENOMEM */
void nest__arena_clear(struct nest__work *);    /* keeps a block, so that warm requests need none */
void nest__kept_free(struct nest__work *);

/* -- threads.c */
enum nest__on_match { NEST__PASS_OVER, NEST__STOP_AT };
void nest__threads_begin(struct nest__scratch *);
bool nest__threads_add(struct nest__scratch *, const struct nest__nfa *, uint16_t from, unsigned to,
                       unsigned parts, uint32_t at, enum nest__on_match);

/* -- matcher.c */
void nest__match_begin(struct nest__match *, const uint16_t *rules, unsigned count);
/* Feeds what match has not seen of the n unread bytes at p. DECIDED: match->best, best_n. */
enum nest__verdict nest__match_feed(struct nest__match *, struct nest__scratch *, const uint8_t *p,
                                    uint32_t n, bool eof);

/* -- parts.c */
void nest__parts_find(struct nest__action *, struct nest__scratch *);

/* -- output.c */
void nest__out_drop(nest_session *);

/* The action of this session, NULL if none runs. */
static inline struct nest__action *nest__acting(const nest_session *s) {
    struct nest__carrier *carrier = nest__carrier();
    struct nest__action *action = carrier == NULL ? NULL : carrier->action;
    return action != NULL && action->session == s ? action : NULL;
}

#endif
