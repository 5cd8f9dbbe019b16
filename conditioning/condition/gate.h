/* What a gate is: for gate.c, where the server's calls of accept take connections, and push.c,
 * where connections are sent into the gate. */
#ifndef CC_GATE_H
#define CC_GATE_H

#include "condition.h"

enum { MOST_READY = 1024 };

struct waiting {
    int fd; /* -1: it was sent into the gate */
    struct cc__address from;
    struct tail *tail; /* where it comes from; NULL: from --check */
};

struct gate {
    ino_t inode, real_inode;
    int real, domain;
    int end[2]; /* [0]: a copy of the server's end */
    struct waiting ready[MOST_READY];
    size_t first, count;
    size_t sent;  /* of these, the first ones, are messages in the gate */
    int unit;     /* bytes that one of them takes there; 0: not known */
    size_t bytes; /* without --by preload: in the gate, at most `count` */
    struct caller *callers;
    struct gate *next;
};

#endif
