/* loops.h: what the files of the simulation of several loops share.
 *
 * Each loop is a process, as in a server with `dispatchers`; one process runs at a time, and the
 * seed says which. turns.c: processes, turns, the supervisor, deaths. clients.c: what clients do.
 * acts.c: what actions do. book.c: which message must, may and must not reach whom. variables.c:
 * variables in %shared. The memory of struct sim is shared by all processes, so that every process
 * can compare what it sees with what others have done. */
#ifndef NEST_SIMULATE_LOOPS_H
#define NEST_SIMULATE_LOOPS_H

#include "../../../loop/loop.h"
#include "../../../poller/script.h"
#include "../../../workers/mailbox.h"

#include <semaphore.h>

enum {
    SIM_MOST = 3,
    SIM_PROCESSES = SIM_MOST + 1, /* the last is the service process, which only sends */
    SIM_PLACES = 48,              /* clients at once */
    SIM_SENDERS = SIM_PLACES + 1, /* the last is the service process */
    SIM_GROUPS = 6,
    SIM_MESSAGES = 4096, /* between two checks of everything */
    SIM_OPERATIONS = 2048,
    SIM_HELD = 8192,
    SIM_IDS = 64,
    SIM_LARGEST = 16 * 1024
};
#define SIM_BIT(place) (UINT64_C(1) << (place))

enum sim_phase {
    SIM_RUNS,
    SIM_SETTLES, /* no client does anything new, until all that was sent has arrived */
    SIM_DRAINS,  /* then loops look for mail that nobody has told them of: its sender has died */
    SIM_ENDS     /* each loop ends */
};

struct sim_process {
    sem_t go; /* it has a turn */
    pid_t pid;
    uint32_t life;
    bool lives;                  /* it runs, or waits for its turn */
    bool dead;                   /* it was killed, and the supervisor has not noticed */
    bool over;                   /* it has ended as it should */
    bool busy;                   /* in SIM_SETTLES: it has something to do */
    bool looked;                 /* in SIM_DRAINS: for mail */
    uint64_t ghosts[SIM_GROUPS]; /* members that have died with it, until that is noticed */
    uint32_t out;                /* the message that it is sending; 0 */
    uint32_t operation;          /* in %shared, that it has begun: its number plus 1; 0 */
    bool inside;                 /* it has died inside $lock, and the supervisor has not noticed */
};

enum sim_member { SIM_NO_MEMBER, SIM_JOINS, SIM_MEMBER, SIM_LEAVES };

struct sim_queue { /* numbers of messages, first in, first out */
    uint32_t first, n, all[SIM_HELD];
};

struct sim_client {
    enum {
        SIM_FREE,
        SIM_COMES, /* START has not run */
        SIM_OPEN,
        SIM_CLOSES, /* END runs */
        SIM_CLOSED  /* output may still leave */
    } state;
    uint32_t number, loop, who; /* number: of all clients; who: of those of the loop's process */
    uint64_t id;
    uint8_t member[SIM_GROUPS];
    uint32_t last[SIM_SENDERS]; /* the last message that came of who has each place, or had it */
    struct sim_queue held;      /* wait in its loop */
    uint64_t held_bytes;
    struct sim_queue given; /* were given to it, and have not arrived */
    bool behind;            /* more waits for it than may: it must end */
    /* what it has read: */
    uint32_t reads, reads_at; /* the message that arrives, 0: none */
    bool line;                /* a reply of an action arrives */
    /* what it does: */
    uint64_t room;
    bool half, eof, reset, quits, acts;
};

struct sim_message {
    uint32_t n;
    uint32_t sender, from; /* the place of who has sent it, and its number */
    uint32_t to;           /* number of the client that it is for; 0: it is for a group, */
    uint8_t group;         /* this one */
    bool over;             /* it was sent; also if its sender died */
    bool failed;           /* a mailbox was full */
    uint64_t must, may, got;
};

struct sim_operation { /* adds to a variable */
    uint64_t begun, ended, value, more;
    bool read, dead;
};

struct sim {
    uint64_t seed, drawn;
    bool verbose, broken;
    sem_t back; /* the turn is over */
    uint32_t conversations, opened;
    uint32_t count; /* of loops */
    uint32_t clients, output;
    bool lossy, drains, asks; /* drains: the server ends by TERM; asks: holders of the lock learn
                                 that the one before has died */
    uint32_t points, kills, floods, large, stalls, resets, listens, locks, meets, groups;
    enum sim_phase phase;
    uint32_t next_check;
    uint64_t moment; /* counts everything that happens */
    uint64_t clock;
    uint64_t changes[SIM_GROUPS]; /* of members */
    struct sim_process processes[SIM_PROCESSES];
    struct sim_client all[SIM_PLACES];
    uint32_t numbers; /* of messages, */
    uint32_t checked; /* and all up to this one have been checked and are forgotten */
    struct sim_message messages[SIM_MESSAGES];
    /* By sender and receiver: bytes that were given to the mailbox, and how many of them had been
     * when the receiver last began to take what turned out to be all. */
    uint64_t sent[SIM_PROCESSES][SIM_MOST], taken[SIM_PROCESSES][SIM_MOST];
    struct {
        uint64_t id;
        bool reaped; /* the supervisor knows that it has ended */
        uint32_t loop;
    } ended[SIM_IDS];
    uint32_t ended_n;
    uint64_t value; /* of the variable, at the last check */
    bool inside;    /* a process has died on its way through $lock, and nobody was told */
    uint32_t operations_n;
    struct sim_operation operations[SIM_OPERATIONS];
    uint64_t messages_all, operations_all, deaths, full, given_up; /* what the life has had */
};
extern struct sim *sim;
extern uint32_t sim_own; /* the number of this process; SIM_PROCESSES: the supervisor */

_Noreturn void sim_broken(const char *format, ...) NEST_FORMAT(1, 2);
uint32_t sim_random(uint32_t below);
bool sim_chance(uint32_t percent);
static inline uint64_t sim_moment(void) {
    return ++sim->moment;
}

/* -- turns.c */
void sim_yield(void);     /* others have turns now */
void sim_point(void);     /* perhaps they have: here a process may be stopped, or killed for ever */
uint64_t sim_clock(void); /* in place of nest__clock_ns for groups */

/* -- book.c */
struct sim_message *book_message(uint32_t number);
bool book_has_space(void);             /* for more messages */
nest_group book_group(uint32_t group); /* its name: half are numbers, half the same as text */
/* Before and after something is sent. */
uint32_t book_begin(uint32_t sender, uint32_t n);
void book_to_group(uint32_t number, uint32_t group, const struct sim_client *except);
void book_to_client(uint32_t number, uint32_t place);
void book_end(uint32_t number);
void book_refused(uint32_t number); /* nobody gets it */
void book_text(uint32_t number, uint8_t *to);
void book_died(uint32_t process);
void book_forget(uint32_t place); /* nothing more must reach it */
void book_join(struct sim_client *, uint32_t group, bool begins);
void book_leave(struct sim_client *, uint32_t group, bool begins);
void book_closing(struct sim_client *);
void book_closed(struct sim_client *);
void book_arrived(uint32_t place, const uint8_t *, size_t n); /* at its client */
void book_check(void);                                        /* everything has come to rest */
void book_forget_all(void);
/* How many members there are: at least and at most. */
void book_members(uint32_t group, uint64_t *least, uint64_t *most);
/* In place of functions of the runtime, within its files. */
int book_send(uint16_t serial, nest__ref, uint32_t kind, const void *bytes, uint32_t n);
bool book_take(struct nest__mail *);
struct nest__mail_body;
void book_hold(nest_session *, uint32_t kind, struct nest__mail_body *);
void book_mail(nest_session *, const uint8_t *, uint32_t n); /* it is handed over */
void book_begin_mailbox(void);
void book_reaped(uint32_t process);

/* -- clients.c */
struct sim_client *client_of(const nest_session *);
uint32_t client_place(const struct sim_client *);
void clients_opened(nest_session *);

/* -- acts.c */
void acts_serve(void); /* the service process has a turn */

/* -- variables.c */
void variables_begin(void);
void variables_act(void);
void variables_died(uint32_t process);
void variables_anew(void);
void variables_check(void);
void variables_end(void);

#endif
