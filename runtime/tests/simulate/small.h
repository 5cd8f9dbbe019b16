/* small.h: what the simulations of classes (shares.c) and of overload (marks.c) share: a
 * specification of four rules, and clients that send such messages.
 *
 * A real system tells a loop only when it sleeps what has come. A script's poller would tell it at
 * once. So what clients send while the loop is awake waits in `due`, and reaches their sockets when
 * the loop is about to sleep. */
#ifndef NEST_SIMULATE_SMALL_H
#define NEST_SIMULATE_SMALL_H

#include "simulate.h"

enum small_rule { /* as tables.py has them */
                  SMALL_ASK,
                  SMALL_BLOCK, /* $block { } */
                  SMALL_QUIT,
                  SMALL_RANK, /* R0N: class N + 1 */
                  SMALL_RULES
};
enum { SMALL_MESSAGE = 4, SMALL_REPLY = 3 /* "ok\n" */, SMALL_SLEEPS = 20000 };

struct small_client {
    struct small_client *next;
    uint32_t who;
    nest_session *session; /* from its START, or OVERLOAD, until it is closed */
    uint32_t sent, taken;  /* messages: in its socket; taken by rules */
    uint32_t got;          /* bytes */
    uint8_t *due;          /* bytes that it sends when the loop sleeps */
    uint32_t due_n, due_cap;
    bool greets; /* it opens then */
    bool blocks; /* its action waits for a helper */
    bool quits;  /* its last message is sent, or due */
    bool turned; /* it was turned away */
    uint32_t room;
    /* shares.c: its class from 0, and the kind of client */
    uint32_t rank, kind;
    bool single;      /* a request that came when its class was idle, */
    uint64_t arrived; /* after so many messages of others */
};

extern uint32_t small_sleeps;              /* of the loop, since something has happened */
extern struct small_client *small_clients; /* that are opened, or about to */
struct small_client *small_open(void);     /* opens when the loop sleeps */
void small_send(struct small_client *, const char *message);
/* Messages that the server has received, and no rule has taken. */
uint32_t small_waiting(const struct small_client *);
uint32_t small_flush(void); /* what is due reaches the sockets: of how many clients */
void small_settled(void);   /* all that came is answered, but what waits for helpers */
struct small_client *small_of(const nest_session *);
void small_ok(nest_session *); /* an action's answer */
int small_run(void);           /* a life; its exit status */

/* -- of each program */
void small_take(nest_session *, unsigned rule); /* before the action */
void small_closed(struct small_client *, bool cut);
/* In place of functions of the runtime, as unit.py has them: */
int shares_take(struct nest__listener *, struct nest__arrival *, bool nonblocking);
void shares_sleep(bool look);
int marks_take(struct nest__listener *, struct nest__arrival *, bool nonblocking);
void marks_sleep(bool look);
void marks_load(uint32_t actions);
uint32_t marks_completed(void);
uint64_t marks_ms(void);
uint64_t marks_us(void);

/* The join point. */
static inline void nest__small_take(nest_session *s, const struct nest__rule *rule,
                                    const uint8_t *p, uint32_t n) {
    (void)p, (void)n;
    small_take(s, (unsigned)(rule - nest__rules));
}

#endif
