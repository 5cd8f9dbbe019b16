/* What --check knows of the server: check.c records it, trial.c tries, report.c prints. */
#ifndef CC_CHECK_H
#define CC_CHECK_H

#include "condition.h"

enum { MOST_SEEN = 64, MOST_CALLS = 16 };

/* A socket that the server has bound, or that listens. */
struct seen {
    ino_t inode;
    struct gate *gate; /* once it listens */
    int type;
    char address[80], program[256];
    unsigned made, used;  /* bits: calls before it listened, and after */
    int client;           /* ours, or -1 */
    const char *accepted; /* the call that got a client, or NULL */
};

extern struct seen seen[MOST_SEEN];
extern size_t seen_count;
extern uint64_t seen_changed; /* when there was something new */
extern int seen_asked;        /* the last call that asked a gate for its address or an option; -1 */
extern char seen_ring[256];   /* the program that asked for io_uring */

const char *call_name(int number); /* of a recorded call, from 0; NULL: there are no more */

/* trial.c */
extern bool trial_ended;      /* the server has ended by itself */
extern bool trial_background; /* its first process has ended, and others run */
int trial_client(int real);   /* connects to a socket that listens, at an address of this machine */

#endif
