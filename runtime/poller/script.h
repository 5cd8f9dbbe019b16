/* script.h: what the files of the script's io share. Nobody else includes it.
 *
 * script.c: conversations and the bytes between them and their clients; script_steps.c: commands,
 * time, stops; jobs.c: work that may block; script_faults.c: what fails when it is told to. */
#ifndef NEST_SCRIPT_H
#define NEST_SCRIPT_H

#include "../workers/loops.h"
#include "command.h"

enum {
    SCRIPT_CLIENTS = 65536,         /* at once */
    SCRIPT_CONVERSATIONS = 1 << 21, /* ever; more than SCRIPT_CLIENTS need the command `clients` */
};

struct script_client { /* from its open, or a `room` before that, until it is closed */
    uint8_t *sent;     /* by the client: at, n: what is not yet received */
    size_t at, n, cap;
    uint64_t room;
    uint32_t slot; /* NEST__NO_SLOT: it waits to be taken */
    bool eof, reset;
};

/* -- script.c */
extern uint32_t script_now;  /* virtual time */
extern uint32_t script_live; /* conversations that are taken */
extern int script_status;
extern bool script_over, script_again; /* drainTimeout is over; slots are used again */
void script_scribble(void);            /* no lease is left: what is lent becomes garbage */
struct script_client *script_client(uint32_t who);               /* NULL: none, or closed */
struct script_client *script_client_make(uint32_t who);          /* NULL: ENOMEM */
void script_begin(nest_session *, const struct nest__arrival *); /* it was taken */
int script_send(struct script_client *, const uint8_t *, size_t);
void script_go_on(nest_session *);
void script_tell(nest_session *, enum nest__event);
/* These may end a wait: the session whose action is to be resumed, or NULL. */
nest_session *script_heard(nest_session *); /* its client has sent, closed, or taken output */
nest_session *script_reset(nest_session *);
nest_session *script_due(nest_session *); /* its deadline has come */
nest_session *script_waited(nest_session *, int result);

/* -- jobs.c: the deterministic twin of loop/helpers.c */
void script_helpers(uint32_t ms); /* that a job takes; NEST__NO_HELPERS: no thread can be had */
bool script_job_add(nest_session *, struct nest__waiter *); /* false: it must run at once */
nest_session *script_job_done(void); /* does the first that is due; who waited for it, or NULL */
uint32_t script_job_next(void);      /* when one is due; 0: there is none */

/* -- script_faults.c: included before files and the engine */
void script_fail(const struct nest__command *);
void script_disk(bool cold);
bool script_disk_is_cold(void);
extern int script_short;       /* -errno with which nobody can be taken; 0 */
extern long nest__faults_held; /* allocations that are not yet freed */
extern uint32_t nest__faults_struck, nest__faults_of_files; /* since the beginning */

#endif
