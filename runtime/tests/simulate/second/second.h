/* second.h: what the files of the simulation of second connections share.
 *
 * sides.c models a connection: what its other side does, what it must get, and why it may end.
 * sockets.c has the system calls and the resolver of $dial and $listen. acts.c has the actions, and
 * checks each directive when it returns; several.c has those that wait for several connections.
 * draw.c draws what the other sides do, and looks at all of them after each step. The simulation
 * and the runtime are one compilation unit. */
#ifndef NEST_SIMULATE_SECOND_H
#define NEST_SIMULATE_SECOND_H

#include "../simulate.h"

enum {
    SECOND_SAID = 20000,
    SECOND_WAITS = 100000,
    SECOND_NEXT_MS = 250,
    SECOND_AGAIN_MS = 10,
    SECOND_AT_ONCE = 4
};

enum side_kind { SIDE_CLIENT, SIDE_DIALLED, SIDE_ACCEPTED, SIDE_LISTENER, SIDE_LOOKUP };

struct call;
struct side { /* a connection of a session, and its other side */
    struct side *next;
    uint32_t who;
    enum side_kind kind;
    struct call *call;     /* NULL: that of its client is closed */
    nest_session *session; /* NULL: not yet */
    int handle;            /* 0: the action does not have it */
    uint32_t faults;       /* that had struck before it was opened */
    /* what the other side does */
    uint8_t *said;
    uint32_t said_n, said_cap;
    bool eof, reset, foreign;
    uint64_t room;
    bool pends, never; /* its connect, or lookup, ends when it is due; never */
    uint32_t due;
    int error; /* with which its connect ends */
    /* what the server has of that, and what it must deliver */
    uint32_t taken;
    uint8_t *want;
    uint32_t want_n, want_cap, got;
    struct side *from;      /* relayed bytes come from there, while a relay runs */
    uint32_t filled, moved; /* when output began to wait; when some of it last arrived */
    uint32_t limit;         /* of $timeoutOf; 0: none */
    bool attached, ended;   /* ended: no output may follow, and the other side knows it */
    bool closing, dropped;  /* closed by its action; some of its output need not arrive */
    bool lost;              /* a directive has failed on it */
    bool murky;             /* how far it was taken is not known */
    bool must_reset;        /* its relay was cut off */
};

enum call_wait { CALL_GOES, CALL_DIAL, CALL_READ, CALL_WRITE, CALL_ANY, CALL_RELAY, CALL_SLEEP };

struct call { /* one client's conversation */
    struct call *next;
    uint32_t who;
    nest_session *session; /* NULL: not accepted */
    struct side *client;
    bool acting, over, cut, minds, closes, asks;
    uint32_t starts, ends;
    int stale; /* the handle of one that was closed; 0: none */
    /* what its action waits for: at most until then, if `limited` */
    enum call_wait wait;
    uint32_t from, until;
    bool limited;
    struct side *on[16];
    unsigned on_n;
    uint32_t stirred; /* of a relay: when one of its sides last did something */
    bool stalls;      /* of a relay: one of its sides may have held it up */
    /* of a dial */
    unsigned addresses, tried, open;
    bool local, found;     /* a Unix socket; the lookup has ended */
    uint32_t last, failed; /* when the latest attempt began, and when one failed */
    bool any_failed;
    int error;
};

extern struct second {
    struct call *calls;
    struct side *sides;
    uint32_t sides_n, lookups;
    uint32_t waits; /* since the last command */
    bool later;
    uint32_t reset, stall, faults, never; /* per cent */
} second;

/* -- sides.c */
struct side *side_make(uint32_t who, enum side_kind, struct call *);
struct side *side_find(uint32_t who);
struct nest__further *side_further(const struct side *); /* NULL: it is no channel now */
uint64_t side_queued(const struct side *);
bool side_late(const struct side *, bool must); /* it has taken nothing for writeTimeout */
static inline bool side_pardoned(const struct side *side) {
    return side->faults != nest__faults_struck;
}
void side_want(struct side *, const uint8_t *, uint32_t n);
void side_say(struct side *, uint8_t);
bool side_stands_unread(const struct side *); /* a read from it need not wait */
void side_relay(struct side *, struct side *from);
void side_relayed(struct side *, struct side *from); /* the relay has ended */
void side_check(struct side *);                      /* after each step */
bool side_is_lost(struct side *);               /* it cannot be used any more; that has a reason */
int side_half_close(const struct nest__chan *); /* in place of nest__chan_half_close */
_Noreturn void side_broken(const struct side *, const char *what);

/* -- sockets.c */
struct side *sock_new(enum side_kind);
void sock_check(void);
void sock_tried(struct call *); /* the call's dial begins */

/* -- acts.c */
void act_run(struct call *);
int act_wait(nest_session *, const struct nest__wait *); /* in place of nest__wait_in_fiber */
struct call *act_of(const nest_session *);
bool act_fails(const struct call *);                        /* every directive does */
bool act_is(uint32_t time);                                 /* now */
void act_begin(struct call *, enum call_wait, uint32_t ms); /* 0: for ever */
/* The session was cut short by a directive: it must have a reason. */
void act_cut(struct call *, enum call_wait, const char *what, int error);
_Noreturn void act_broken(const struct call *, const char *what, int error);
void act_client(struct call *); /* reads from the client, which has said something */

/* -- several.c: of these second connections, and the client */
void several_any(struct call *, struct side *open[16], unsigned count);
void several_relay(struct call *, struct side *open[16], unsigned count);
void several_wrong(struct call *, struct side *);

/* -- draw.c */
uint32_t draw_ms(void);

#endif
