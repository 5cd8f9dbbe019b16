/* recorder.h: the file of rings: its format, and who maps what of it.
 *
 * The file begins with struct nest__recorder_file and a text with the names of states and rules.
 * The rings follow: that of the supervisor, then one for each thread of each worker. A ring has one
 * writer at a time. The next worker with the same number continues its recorder.
 *
 * crates/nest-trace reads the file. All numbers are little-endian. */
#ifndef NEST_SERVICE_DEBUG_RECORDER_H
#define NEST_SERVICE_DEBUG_RECORDER_H

#include "../../seam.h"

#define NEST__DEBUG_MAGIC "nestring"
enum { NEST__DEBUG_VERSION = 1 };

struct nest__recorder_file {
    char magic[8];
    uint32_t version;
    uint32_t header;           /* bytes before the first ring */
    uint32_t rings;            /* how many */
    uint32_t records;          /* in each ring */
    uint32_t stride;           /* bytes from one ring to the next */
    uint32_t record;           /* bytes of a record */
    uint64_t began;            /* ns of CLOCK_MONOTONIC, as in records */
    uint64_t date;             /* the same moment: ns since 1970 */
    uint32_t workers, threads; /* ring 1 + worker * threads + thread */
    uint32_t text, length;     /* of the names: offset and bytes */
};

/* Names of kinds are in crates/nest-trace/src/event.rs, in this order. */
enum nest__recorder_kind {
    NEST__DEBUG_NONE,
    NEST__DEBUG_START,  /* value: the process */
    NEST__DEBUG_GONE,   /* supervisor; what: the worker; value: its process */
    NEST__DEBUG_KILLED, /* supervisor; value: the process that a signal has ended */
    NEST__DEBUG_STOP,   /* supervisor; value: the phase of the stop */
    NEST__DEBUG_RELOAD, /* supervisor */
    NEST__DEBUG_FINISH, /* supervisor: the server has ended */
    NEST__DEBUG_ACCEPT, /* value: the descriptor */
    NEST__DEBUG_READ,   /* value: bytes */
    NEST__DEBUG_MATCH,  /* what: the rule; value: bytes of the message */
    NEST__DEBUG_EXPIRE, /* what: the TIMEOUT rule */
    NEST__DEBUG_BEGIN,  /* of an action; role and what */
    NEST__DEBUG_END,    /* of an action; value: bytes that it took */
    NEST__DEBUG_WAIT,   /* of an action */
    NEST__DEBUG_RESUME, /* of an action */
    NEST__DEBUG_STATES, /* what: the state that was set last; value: the bits */
    NEST__DEBUG_MAIL,   /* value: bytes */
    NEST__DEBUG_REPLY,  /* value: bytes that were queued */
    NEST__DEBUG_SENT,   /* value: bytes */
    NEST__DEBUG_OVER,   /* of a connection; what: the reason */
    NEST__DEBUG_CLOSE,  /* of a connection: nothing refers to it any more */
};

enum nest__recorder_role {
    NEST__ROLE_NONE,
    NEST__ROLE_RULE,
    NEST__ROLE_TIMER,
    NEST__ROLE_START,
    NEST__ROLE_END,
    NEST__ROLE_OVERLOAD
};

struct nest__recorder_record {
    /* The number of the record, from 1, modulo 2^32; 0 while it is written. It is written last. */
    _Atomic uint32_t number;
    uint8_t kind, role;
    uint16_t what;
    uint64_t time; /* ns of CLOCK_MONOTONIC */
    uint64_t connection;
    uint64_t value;
};
_Static_assert(sizeof(struct nest__recorder_record) == 32, "the format of the file");

struct nest__recorder_ring {
    _Atomic uint64_t next; /* how many records were ever written */
    uint64_t unused[7];
    struct nest__recorder_record record[];
};
_Static_assert(sizeof(struct nest__recorder_ring) == 64, "the format of the file");

struct nest__recorder_event {
    enum nest__recorder_kind kind;
    enum nest__recorder_role role;
    uint32_t what; /* NEST__DEBUG_NO_WHAT: nothing */
    uint64_t connection, value;
};
enum { NEST__DEBUG_NO_WHAT = 0xffff };

/* Creates the file for so many workers, and maps what the supervisor writes. 0, or -errno after a
 * message. */
int nest__recorder_create(uint32_t workers, uint32_t threads);
/* In a worker: maps its rings. In another process that serves no clients: `worker` is
 * NEST__DEBUG_NOBODY, and the process writes nothing. 0, or -errno after a message. */
int nest__recorder_open(uint32_t worker);
#define NEST__DEBUG_NOBODY UINT32_MAX
/* Of a worker's thread; in the supervisor thread 0. */
void nest__recorder_add(uint32_t thread, const struct nest__recorder_event *);
/* loops.c, each.c: the most workers at a time. */
uint32_t nest__recorder_workers(void);

#endif
