/* load.h: what the parts of the load generator share: what is asked for, clients, what is counted.
 *
 * One thread, one epoll loop. load.c decides when a client begins a request, client.c carries it
 * out and verifies the answer, options.c reads the command line, report.c writes the result. */
#ifndef LOAD_H
#define LOAD_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "histogram.h"

enum { HEAD_MOST = 2048, SOURCES_MOST = 64, READS_MOST = 8, DEPTH_MOST = 64 };

/* Something to ask for: `depth` requests in a row, and the length that each answer's body has. */
struct target {
    double until; /* the sum of the weights up to this one */
    char *request;
    uint32_t length;
    uint64_t body;
};

/* What may go wrong; each is counted, and any of them fails a measurement. */
enum fault {
    FAULT_CONNECT, /* refused, unreachable, no descriptor or port */
    FAULT_RESET,
    FAULT_CLOSED,    /* the server closed although it was not asked to, or before it was done */
    FAULT_STATUS,    /* not 200 */
    FAULT_LENGTH,    /* another length than the file has, or bytes behind the answer */
    FAULT_MALFORMED, /* no head of HTTP/1 with Content-Length */
    FAULT_TIMEOUT,   /* incomplete after `timeout` seconds */
    FAULTS
};

enum state { CLOSED, CONNECTING, SENDING, HEAD, BODY, ENDING, RESTING };

struct client {
    int fd;
    enum state state;
    bool idle;            /* one of the crowd that rests */
    bool closes;          /* the server ends the connection after this answer, as its head says */
    uint32_t events;      /* what epoll was told to watch */
    unsigned outstanding; /* answers that are still to come */
    const struct target *target;
    uint32_t sent;
    uint32_t head_length; /* of a head that came in pieces */
    uint64_t left;        /* bytes of this body that are still to come */
    uint64_t begun;       /* when the request was due */
    uint64_t rests;       /* until when it pauses */
    unsigned asked;       /* requests on this connection, this one included */
    uint64_t draw;    /* its own random numbers, so that each client asks for the same each time */
    uint64_t answers; /* in the measured time */
    char head[HEAD_MOST];
};

struct options {
    struct sockaddr_in to;
    struct in_addr from[SOURCES_MOST];
    int reads[READS_MOST];
    unsigned sources, read_count, clients, depth, idle;
    unsigned requests; /* after so many the client closes its connection; 0: it stays */
    bool closing;      /* a connection for each request, and the server is told */
    bool reopens;      /* the server may end a connection between two answers */
    double rate, pause, warm, seconds, timeout;
    uint64_t seed;
    struct target *targets;
    unsigned target_count;
};

struct counts {
    bool measuring;
    uint64_t begin, end; /* the measured time */
    uint64_t answers;    /* that ended in it; in an open loop: that were due in it */
    uint64_t ended;      /* that ended in it */
    uint64_t bytes, connects;
    uint64_t reopened; /* connections that the server ended between two answers */
    uint64_t faults[FAULTS];
    struct histogram latency, later; /* of all answers; of those but the first of a connection */
};

extern struct options options;
extern struct counts counts;

uint64_t now(void);
uint64_t draw(uint64_t *state);

/* options.c: exits if they are wrong. */
void read_options(int argc, char **argv);

/* client.c. A request of a client at rest (or closed) begins; `due`: when it should have. */
void client_begin(struct client *, uint64_t due);
void client_event(struct client *, uint32_t events);
void client_fail(struct client *, enum fault);
void client_drop(struct client *);
extern int client_epoll;

/* load.c: a client is done with what it was told to do, well or not. */
void client_done(struct client *);

/* report.c */
void report_read(unsigned when); /* 0 at the beginning, 1 at the end: files that others count in */
void report(const struct client *clients, const struct client *crowd, uint64_t unserved);

#endif
