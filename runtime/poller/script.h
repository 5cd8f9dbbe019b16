/* script.h: what the files of the script's poller share. Nobody else includes it but the
 * simulation.
 *
 * script.c: conversations, and the bytes between them and their clients; script_poller.c:
 * operations and their completions; script_steps.c: commands, time, the end; script_jobs.c: work
 * that may block; script_faults.c: what fails when it is told to. */
#ifndef NEST_SCRIPT_H
#define NEST_SCRIPT_H

#include "../channel/channel.h"
#include "command.h"
#include "poller.h"

enum {
    SCRIPT_CLIENTS = 1 << 17,       /* at once */
    SCRIPT_CONVERSATIONS = 1 << 21, /* ever; more than SCRIPT_CLIENTS need the command `clients` */
    SCRIPT_NUMBERS = 2 * SCRIPT_CONVERSATIONS, /* the upper half: those that the server begins */
};

struct script_client { /* from its open, or a `room` before that, until it is closed */
    uint8_t *sent;     /* by the client: at, n: what is not yet received */
    size_t at, n, cap;
    uint64_t room;
    uint32_t slot;           /* NEST__NO_SLOT: it waits to be taken */
    struct nest__chan *chan; /* of that session; NULL until then */
    bool eof, reset;
    bool touched;               /* in the list of script_poller.c */
    struct script_client *next; /* there */
    /* Of delayed operations: what is in flight, and its sum when it was given away. */
    struct nest__out flight[NEST__CHAN_VECTORS];
    int pieces; /* of it; 0: nothing is in flight */
    uint64_t sum;
    bool closing;
};

/* -- script.c */
extern int script_status;
extern bool script_lingers;                             /* clients are lingered for */
struct script_client *script_client(uint32_t who);      /* NULL: none, or closed */
struct script_client *script_client_make(uint32_t who); /* NULL: ENOMEM */
struct script_client *script_client_of(const struct nest__chan *);
/* A conversation that the server begins: the descriptor of its channel, of kind NEST__SCRIPT, which
 * is also its number. -ENOMEM. */
int script_dial(void);
uint32_t script_dialled(void); /* the number of the latest; SCRIPT_CONVERSATIONS: there was none */
/* The next number behind this one, of the conversations up to number `opened` and of those that the
 * server has begun and that are not closed; 0: there is no other. */
uint32_t script_next(uint32_t who, uint32_t opened);
static inline bool script_readable(const struct script_client *client) {
    return client->n > 0 || client->eof || client->reset;
}
/* What ends a wait for errors. */
static inline bool script_minds(const struct script_client *client) {
    return client->reset || (client->eof && (client->chan->state & NEST__CHAN_MINDS) != 0);
}
int script_sent(struct script_client *, const uint8_t *, size_t); /* by the client. 0 or -ENOMEM */

/* -- script_poller.c */
extern uint32_t script_now;                  /* virtual time */
extern uint32_t script_opened, script_taken; /* conversations 1 to these */
extern int script_short;                     /* -errno with which none can be taken; 0 */
void script_touch(struct script_client *);   /* what its channel awaits may have come */
void script_untouch(const struct script_client *);
nest_session *script_session(uint32_t who); /* NULL: it was not yet taken, or is closed */
void script_request(int64_t count);         /* NEST__OP_SIGNAL */
void script_mailed(void);                   /* NEST__OP_MAIL */
uint32_t script_next_time(void);            /* when something is due; 0: nothing is */

bool script_accepts(void); /* a client can be taken, or the stop is to hear that none can */
void script_lent(const struct nest__window *); /* until the next step */
/* `complete`: one of the operations that can. */
void script_ask(uint32_t which, uint64_t most);

/* -- script_later.c */
extern bool script_later; /* operations complete when a command says so */
void script_later_end(void);
int script_later_push(nest_session *, struct nest__chan *);
uint32_t script_later_count(void); /* operations that can complete */
/* One of them does; a send or a receive of at most so many bytes. False: it is no completion for
 * the loop. */
bool script_later_complete(uint32_t which, uint64_t most, struct nest__completion *);
/* What is under way for this client, if that can complete. */
bool script_later_finish(struct script_client *, uint64_t most, struct nest__completion *);

/* -- script_steps.c */
void script_step(void); /* a command, time that passes, or a step of the end */
bool script_ended(void);

/* -- script_jobs.c: the deterministic twin of loop/helpers.c */
void script_helpers(uint32_t ms); /* that a job takes; NEST__NO_HELPERS: no thread can be had */
uint32_t script_job_next(void);   /* when one is due; 0: there is none */

/* -- script_faults.c: included before files and the engine */
void script_fail(const struct nest__command *);
bool script_watch_fails(void); /* the system has no memory for a channel that begins to wait */
void script_disk(bool cold);
bool script_disk_is_cold(void);
extern long nest__faults_held;                              /* allocations that are not yet freed */
extern uint32_t nest__faults_struck, nest__faults_of_files; /* since the beginning */

#endif
