/* filters.h: filters of connection conditioning, which `%filter` puts in front of the server.
 *
 * They are processes of the server's own program: cc-chain, a child of the supervisor, and a child
 * of it for each filter. They accept the clients, and workers take connections from the last of
 * them (listener/links.c). */
#ifndef NEST_SERVICE_FILTERS_H
#define NEST_SERVICE_FILTERS_H

#include "../../seam.h"

#include <sys/types.h>

/* -- generated: a `%filter` line each, the first one accepts */
struct nest__filter {
    const char *name;    /* "request" */
    const char *clients; /* an option that gets maxClients: "of"; NULL: none does */
};
extern const struct nest__filter nest__spec_filters[];
extern const unsigned nest__spec_filter_count;
extern const unsigned nest__spec_filter_leases;  /* that a connection has of these filters */
extern const unsigned nest__spec_filter_returns; /* which of them is that of persist */

enum { NEST__FILTERS_MOST = 16 }; /* as cc-chain allows */
enum { NEST__LEASES_MOST = 4 };   /* of a connection: filters that follow it to its end */

/* -- for listener/ */
/* Starts the filters on all listeners. 0, or -errno after a message. */
int nest__filters_begin(void);
void nest__filters_end(void); /* by the process that began them: ends those that are left */
/* Where a worker announces its links to the filters of this listener. It hangs up when the filters
 * have ended for good. */
int nest__filters_hop(unsigned listener);
/* The next session that this thread opens has the leases: descriptors that are closed when it is
 * released. `message`: how many bytes of input a filter has seen to be its first message; 0: none.
 */
void nest__filters_leases(const int *leases, unsigned n, uint32_t message);

/* -- counted.c, counted_none.c */
/* By the process that begins the filters: makes memory for their counts. Its descriptor, -1 if
 * nobody reads them, or another -errno. */
int nest__filters_count(unsigned listener);
/* -- counted.c */
struct nest__filter_refusals {
    char reason[32]; /* of letters, digits, blanks and the like */
    uint64_t count;
};
struct nest__filter_counts {
    uint64_t accepted, passed, held, deaths;
    uint64_t oldest_ms; /* how long the oldest that is held has been here */
    unsigned reasons;
    struct nest__filter_refusals refused[24];
};
/* In any process of the server, but those of filters. False: there is no such filter. */
bool nest__filters_counts(unsigned listener, unsigned filter, struct nest__filter_counts *);

/* -- for the supervisor: whether the process was cc-chain */
bool nest__filters_reaped(pid_t, int status);

/* -- join points */
int nest__filters_check(void);
int nest__filters_serve(void);
void nest__filters_reloaded(void);
unsigned nest__filters_mind(void);
unsigned nest__filters_descriptors(bool most);
void nest__filters_open(nest_session *);
void nest__filters_release(nest_session *);

#endif
