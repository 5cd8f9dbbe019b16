/* The parts of cc-chain, which starts the filters of a server, and starts again those that die. */
#ifndef CC_CHAIN_H
#define CC_CHAIN_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "ccfilter.h"
#include "counters.h"
#include "names.h"
#include "wire.h"

enum { WRONG_CALL = 100, TEMPORARY = 111, MOST_FILTERS = CCF__CHAIN };

/* A filter as it was asked for, and what it says of itself. */
struct spec {
    char *text; /* "NAME,key=value": the pieces of argv point into it */
    char *path;
    char *argv[32];
    enum ccf_stage needs, gives;
    unsigned traits;
};

struct plan {
    struct spec spec[MOST_FILTERS];
    int count;
    int users; /* chains that run it */
};

/* plan.c. `why` gets the reason if it is refused, such as what a filter says of its options. */
struct plan *plan_new(char *const *texts, int count, char *why, size_t room);
struct plan *plan_read(const char *file, char *why,
                       size_t room); /* one filter a line, '#' comments */
void plan_free(struct plan *plan);

/* A running filter. */
struct stage {
    struct spec *spec;
    pid_t pid; /* 0: it is not running */
    int in, out, control, memory;
    unsigned place; /* of its counters in the memory */
    struct ccf__counters *counters;
    uint64_t started, again; /* when; when to start it again, 0: not */
    unsigned quick;
    bool strict;
    bool unstarted; /* the last try failed, and this was said */
};

/* The filters of one listening socket, first the one that accepts. */
struct chain {
    struct plan *plan;
    struct stage stage[MOST_FILTERS];
    unsigned number; /* the first that no other chain of the socket has */
    bool leaving;
    bool stays;         /* its last filter waits for chains that are leaving */
    uint64_t deadline;  /* of leaving */
    struct chain *next; /* older ones that are leaving */
};

/* A listening socket of the server. */
struct listener {
    int socket;
    int hop[2]; /* [0]: a copy of the server's end, [1]: the last filter's end */
    int memory; /* the server's, for counters; -1: it has none */
    char name[80];
    unsigned number;      /* from 0, in the order of listening */
    struct chain *chains; /* the current one first */
    struct listener *next;
};

extern struct listener *listeners;
extern struct plan *current;   /* what new listening sockets get; owned here */
extern uint64_t drain_time;    /* ms */
extern unsigned long restarts; /* how often the chain was started before */
extern bool peek;              /* the server reads requests from clients' sockets itself */
extern bool returns;           /* and gives a connection back after each of them */
extern bool follow;            /* and it is known when the server has finished with a connection */

/* start.c */
enum { STAGE_PAUSE = 100 };           /* ms until it is tried again to start a filter */
int stage_start(struct stage *stage); /* with a new control socket; 0 or -errno */
void stage_again(struct stage *stage,
                 int error); /* it could not be started: later, with a message */

/* stage.c */
bool chain_start(struct listener *listener,
                 struct plan *plan); /* false: no descriptors or memory */
void chain_died(pid_t pid, int status);
uint64_t chain_tick(uint64_t now); /* what is due; returns when to call again, or 0 */
enum leaving {
    ENDS,     /* for good: present clients may complete what they have begun */
    REPLACED, /* the same, and the chain that replaces it gets what it has not passed on */
    KEEPS     /* replaced, and its clients go on until they leave */
};
void chain_leave(struct listener *listener, struct chain *chain, enum leaving how);
void chain_kill(void);
bool chain_gone(void); /* no filter is left */

/* serve.c */
void serve_request(int control); /* a message of the server */
/* Gives every listening socket new filters, or none. */
bool reload(struct plan *plan, enum leaving how);
void drain(void);

/* state.c */
bool state_open(const char *path);
size_t state_polls(struct pollfd *polls, size_t room);
void state_events(const struct pollfd *polls, size_t count);
void state_close(void);
int state_ask(const char *path, const char *command); /* for --status; an exit status */

/* keep.c: filters in one line, "NAME,key=value NAME". */
enum { KEEP_LINE = 4096 };
extern int keep; /* the file, or -1: none */
/* The filters of a line, at most MOST_FILTERS + 1, which point into it. Returns how many. */
int keep_split(char *line, char **texts);
bool keep_read(char line[KEEP_LINE]); /* false: the filters were not changed */
bool keep_write(const char *line);

/* show.c */
extern uint64_t show_began; /* when the chain did */
void show_table(FILE *out);
void show_metrics(FILE *out);

/* program.c, or inside.c in a server: the programs of filters. */
char *program_path(const char *name);        /* malloc */
const char *program_check(const char *path); /* the reason why there is none, or NULL */
/* In a child of `chain`: becomes the program. Returns if it cannot. */
void program_run(const char *path, char *const argv[], pid_t chain);

/* server.c. false: errno says why */
bool server_start(char **argv, pid_t *server, int *control);

/* usage.c: the exit status. `what` is wrong; NULL: nothing, it is asked for. */
int usage(const char *what);
int usage_of(const char *option, const char *what, const char *value); /* value: what it has */
int usage_unknown(const char *option);
bool usage_has_value(const char *option); /* whether it is an option with a value */

/* text.c: at most `n` bytes of `text`, and less than `room` of what they become. `room` > 0. */
void shown(char *to, size_t room, const char *text, size_t n);

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t now_ms(void);

#endif
