/* The frame of a filter: everything but its decision. cc-filter(7) shows a whole filter of 40
 * lines.
 *
 * A filter describes itself in a struct ccf_filter and calls ccf_main. The frame then calls
 * `arrive` for each connection; the filter owns it until it passes, refuses or drops it. All
 * callbacks run in one thread, one after the other, and must not wait. */
#ifndef CCFILTER_H
#define CCFILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CCF_MAX_LEASES = 4 };

/* An Internet address of a client. family: 4, 6, or 0 if there is none (a Unix socket). */
struct ccf_address {
    uint8_t family;
    uint8_t bytes[16];
    uint16_t port;
};

/* A connection, with its request once that is complete. */
struct ccf_bundle {
    int fd;                  /* the client's socket; use MSG_DONTWAIT with it */
    struct ccf_address from; /* the client */
    bool complete;           /* it has a request, of `length` bytes */
    uint32_t length;
    uint64_t born;                  /* ccf_now() when it was accepted */
    void *own;                      /* `extra` zeroed bytes for the filter */
    struct ccf_bundle *next, *prev; /* for a list of the filter: ccf_push, ccf_pop, ccf_take */
    /* The rest is the frame's. */
    struct ccf_bundle *younger, *older;
    char *bytes;
    int memfd;
    int lease[CCF_MAX_LEASES];
    uint8_t leases;
    bool held;
    bool counted; /* as passed */
};

/* What an option's text may be and where its value goes. */
enum ccf_kind {
    CCF_NUMBER, /* long */
    CCF_TIME,   /* long, milliseconds: 500ms, 5s, 2m; a plain number is seconds */
    CCF_SIZE,   /* long, bytes: 512, 16k, 1m */
    CCF_CHOICE, /* long, the place of the word in `words`, which are separated by '|' */
    CCF_TEXT    /* const char * */
};

struct ccf_option {
    const char *name;
    enum ccf_kind kind;
    void *value; /* has the default before options are read */
    long least, most;
    const char *words;
    const char *about;
};

/* Whether the text is a value of the option: its number, unless it is a text. */
bool ccf_takes(const struct ccf_option *option, const char *text, long *value);

/* What arrives at a filter, and what leaves it. */
enum ccf_stage { CCF_ANY, CCF_CONNECTIONS, CCF_REQUESTS };

enum {
    CCF_HOLDS = 1, /* it takes connections until it holds `limit` of them; otherwise only as many as
                      are asked for by those behind it */
    CCF_CHOOSES = 2, /* `choose` decides which connection is next; those behind it must not hoard */
    CCF_LEASES = 4,  /* it calls ccf_lease */
    CCF_SPLITS = 8,  /* it presents a connection several times */
    CCF_LAST = 16,   /* what leaves it is for the server only */
    CCF_CHANGES = 32 /* it changes requests; `check` of the filter may set it */
};

struct ccf_filter {
    const char *name, *about;
    const struct ccf_option *options; /* ends with a name of NULL; may be NULL */
    enum ccf_stage needs, gives;      /* gives CCF_ANY: what arrived */
    unsigned traits;
    size_t extra;
    long limit;                 /* of connections held; 0: as many as descriptors allow */
    const char *(*check)(void); /* the reason why the options make no sense, or NULL; may be NULL */
    bool (*start)(void);        /* false: no memory; may be NULL */
    void (*arrive)(struct ccf_bundle *bundle);
    struct ccf_bundle *(*choose)(void); /* with CCF_CHOOSES: the next one, or NULL */
    bool (*shed)(void); /* there is no room: ends a connection, or returns false; may be NULL */
    void (*stop)(void); /* the chain ends: let go of what waits for clients; may be NULL */
};

int ccf_main(struct ccf_filter *filter, int argc, char **argv);

/* Each of these takes a bundle from the filter. ccf_pass hands it to the next process. ccf_refuse
 * sends `answer` and ends the connection, and counts `reason`; both may be NULL. ccf_drop closes
 * the filter's own descriptors; others may still have the connection. */
void ccf_pass(struct ccf_bundle *bundle);
void ccf_refuse(struct ccf_bundle *bundle, const char *reason, const char *answer);
void ccf_drop(struct ccf_bundle *bundle);

/* The start of the request: all of it, or its first 32 KB. Valid until the bundle is changed. */
const char *ccf_head(struct ccf_bundle *bundle, size_t *length);
/* Puts `n` bytes in the place of the first `old` bytes of the request. Returns false without
 * memory. */
bool ccf_replace(struct ccf_bundle *bundle, size_t old, const char *bytes, size_t n);
/* Makes a packaged request of a connection: takes `bytes` (from malloc) or `memfd`, -1 if none. */
void ccf_package(struct ccf_bundle *bundle, char *bytes, int memfd, uint32_t length);

/* Returns a descriptor that hangs up (EPOLLHUP) when nobody behind this filter has the connection
 * any more, or -1. The caller closes it. ccf_lease_kept then says whether all of them gave it back.
 */
int ccf_lease(struct ccf_bundle *bundle);
bool ccf_lease_kept(int lease);
/* A second bundle of the same connection without its request, held by the filter. NULL: no memory.
 */
struct ccf_bundle *ccf_copy(const struct ccf_bundle *bundle);

/* Whether the server reads the request from the client's socket itself. A filter then only looks at
 * the socket (MSG_PEEK), and ccf_replace returns false. */
bool ccf_peeks(void);

/* Whether the filter is inside a server that nest has generated (CC_INSIDE). Its clients need not
 * speak HTTP, so no answer is sent to one that is refused, and its chain is not changed while it
 * runs: it stops only when the server does. */
bool ccf_inside(void);

/* Lists of bundles. */
struct ccf_list {
    struct ccf_bundle *first, *last;
    size_t count;
};
void ccf_push(struct ccf_list *list, struct ccf_bundle *bundle);
struct ccf_bundle *ccf_pop(struct ccf_list *list);
void ccf_take(struct ccf_list *list, struct ccf_bundle *bundle);

/* Time in milliseconds; timers. A timer is zeroed before its first use and belongs to the caller.
 */
uint64_t ccf_now(void);
struct ccf_timer {
    uint64_t when;
    size_t place; /* in the heap, from 1; 0: not set */
    void (*call)(struct ccf_timer *timer);
};
bool ccf_timer_set(struct ccf_timer *timer, uint64_t when);
void ccf_timer_clear(struct ccf_timer *timer);

/* Events of a descriptor, as of epoll(7). The watch belongs to the caller. */
struct ccf_watch {
    int fd;
    void (*call)(struct ccf_watch *watch, uint32_t events);
};
bool ccf_watch_add(struct ccf_watch *watch, uint32_t events);
bool ccf_watch_change(struct ccf_watch *watch, uint32_t events);
void ccf_watch_remove(struct ccf_watch *watch);

/* The structure that has `member` at this address. */
#define CCF_OF(address, type, member) ((type *)(void *)((char *)(address)-offsetof(type, member)))

#ifdef __cplusplus
}
#endif

#endif
