/* children.h: the supervisor's table of its workers, for the files of the supervisor and for
 * policies. */
#ifndef NEST_WORKERS_CHILDREN_H
#define NEST_WORKERS_CHILDREN_H

#include "supervisor.h"

struct nest__child {
    pid_t pid; /* 0: the number is free */
    uint32_t
        life; /* counts the workers that have had this number, and all but one of their clients */
    uint64_t begun; /* ms */
    bool killed;    /* by the stop */
    bool told;      /* that it is to end, or to go when it has no client */
};

int nest__children_prepare(uint32_t most); /* 0 or -ENOMEM */
/* Forks as many workers as the policy wants. After failures it waits first: returns the ms until
 * the next call; -1: no worker is wanted. */
int nest__children_replenish(void);
void nest__children_hurry(void); /* lets the next call fork without waiting */
void nest__children_reap(void);
void nest__children_signal(int signal);
void nest__child_dismiss(uint32_t worker); /* it goes when it has no client */
uint32_t nest__children_most(void);
uint32_t nest__children_live(void);
uint32_t nest__children_seen(void); /* numbers below this one have been used */
const struct nest__child *nest__child(uint32_t worker);
/* The highest exit status of workers of many clients; -1: none has exited. */
int nest__children_over(void);
bool nest__children_failed(void); /* a worker that served many died during the stop */

/* -- phases.c */
void nest__stop_asked(void); /* by TERM or INT */
/* Does the steps of the stop that are due. Returns the ms until the next one; -1: none. */
int nest__stop_advance(void);
void nest__stop_greet(void);  /* workers that serve many hear of all stops before their fork */
void nest__reload_tell(void); /* workers read the configuration again */
/* Reports a reload that all workers have followed, or should have by now. ms until the next look;
 * -1: none. */
int nest__reload_advance(void);
/* How often workers were told to reload. In a child: up to its fork. */
uint32_t nest__reloads_told(void);
void nest__orders_publish(void);

/* -- supervisor.c: no worker runs, and no service process */
bool nest__supervises_none(void);

/* -- supervisor.c: what a child does first, in its process: before it is a worker, */
_Noreturn void nest__child_main(uint32_t worker, uint32_t life);
/* and before it is anything else: the supervisor's descriptors are not its own. */
void nest__child_release(void);

/* -- exits.c: words on how workers end */
void nest__exit_text(int status, char text[64]); /* "ended by itself with status 1" */
/* `delay`: ms until the next fork. */
void nest__say_died_serving_many(pid_t, int status, uint64_t lost, bool killed, uint32_t delay);
void nest__say_died_serving_one(pid_t, int status);
/* Its report says that it served to the end, or it has lost no client. */
void nest__say_ended_itself(pid_t, int status);
void nest__say_died_idle(pid_t, int status, uint32_t delay);
void nest__say_spoiled(pid_t);
void nest__say_no_fork(int error, uint32_t delay);
void nest__say_killing(uint32_t workers);

/* -- backoff.c */
struct nest__backoff { /* zeroed: nothing has failed */
    uint32_t failures; /* in a row */
    uint64_t not_before;
};
/* Counts a failure. Returns the ms until the next try. */
uint32_t nest__backoff_more(struct nest__backoff *);
/* ms until the next try; 0: now. */
int nest__backoff_left(const struct nest__backoff *);

#endif
