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
    SCRIPT_CLIENTS = 65536,         /* at once */
    SCRIPT_CONVERSATIONS = 1 << 21, /* ever; more than SCRIPT_CLIENTS need the command `clients` */
};

struct script_client { /* from its open, or a `room` before that, until it is closed */
    uint8_t *sent;     /* by the client: at, n: what is not yet received */
    size_t at, n, cap;
    uint64_t room;
    uint32_t slot; /* NEST__NO_SLOT: it waits to be taken */
    bool eof, reset;
    bool touched;               /* in the list of script_poller.c */
    struct script_client *next; /* there */
};

/* -- script.c */
extern int script_status;
extern bool script_lingers;                             /* clients are lingered for */
struct script_client *script_client(uint32_t who);      /* NULL: none, or closed */
struct script_client *script_client_make(uint32_t who); /* NULL: ENOMEM */
struct script_client *script_client_of(const struct nest__chan *);
int script_sent(struct script_client *, const uint8_t *, size_t); /* by the client. 0 or -ENOMEM */

/* -- script_poller.c */
extern uint32_t script_now;                  /* virtual time */
extern uint32_t script_opened, script_taken; /* conversations 1 to these */
extern int script_short;                     /* -errno with which none can be taken; 0 */
void script_touch(struct script_client *);   /* what its channel awaits may have come */
nest_session *script_session(uint32_t who);  /* NULL: it was not yet taken, or is closed */
void script_request(int64_t count);          /* NEST__OP_SIGNAL */
uint32_t script_next_time(void);             /* when something is due; 0: nothing is */
/* What the channel awaits completes, if it has come. */
bool script_complete(struct script_client *, struct nest__completion *);

/* -- script_steps.c */
void script_step(void); /* a command, time that passes, or a step of the end */
bool script_ended(void);

/* -- script_jobs.c: the deterministic twin of loop/helpers.c */
void script_helpers(uint32_t ms); /* that a job takes; NEST__NO_HELPERS: no thread can be had */
uint32_t script_job_next(void);   /* when one is due; 0: there is none */

/* -- script_faults.c: included before files and the engine */
void script_fail(const struct nest__command *);
bool script_memory_fails(void); /* an allocation of the system's, for what is awaited first */
void script_disk(bool cold);
bool script_disk_is_cold(void);
extern long nest__faults_held;                              /* allocations that are not yet freed */
extern uint32_t nest__faults_struck, nest__faults_of_files; /* since the beginning */

#endif
