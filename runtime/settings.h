/* settings.h: the values of run-time options, and the table that describes them.
 *
 * Included by seam.h. config/ fills them before anything else runs; a reload changes some. */
#ifndef NEST_SETTINGS_H
#define NEST_SETTINGS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { NEST__LISTEN_MAX = 16 };
/* Members are atomic if a reload may change them while other threads read them. */
struct nest__config {
    uint32_t max_clients;
    uint32_t input_buffer;          /* bytes */
    uint32_t backtracking_limit;    /* steps of libpcre2 in a match */
    _Atomic uint32_t output_buffer; /* bytes */
    _Atomic uint32_t keep_limit;    /* bytes */
    uint32_t server_port;
    const char *_Atomic server_name;      /* the old text remains valid after a change */
    const char *_Atomic access_log;       /* "stderr", "syslog", "journal", or a path */
    const char *_Atomic error_log;        /* the same; NULL: "stderr" */
    _Atomic uint32_t logging, log_format; /* numbers of words, from 0 */
    const char *listen;  /* addresses separated by blanks; NULL: all interfaces, server_port */
    const char *metrics; /* an address, or NULL */
    /* Of mode debug: NULL or "" is SERVER.trace in the working directory; bytes of the file. */
    const char *trace_file;
    uint32_t trace_size;
    /* Durations in ms, at most NEST__LONGEST; 0: no limit. */
    _Atomic uint32_t read_timeout, write_timeout, idle_timeout, linger_timeout, drain_timeout;
    _Atomic uint32_t action_timeout;       /* the same, of an action that does not wait */
    _Atomic uint32_t minimum_rate;         /* bytes a second; 0: none */
    _Atomic uint32_t min_spare, max_spare; /* workers that wait for a client */
    _Atomic uint32_t clients_per_worker;   /* after which it is replaced; 0: never */
    _Atomic uint32_t dispatchers;          /* loops, each in a process; 0: one for each processor */
    uint32_t helpers;                      /* maximum number of helper threads of a loop, >= 1 */
    _Atomic uint32_t completion;           /* enum nest__completing */
    const char *processors;  /* threads for actions: "N", "N..M", "none"; NULL: no such option */
    const char *file_root;   /* "": the working directory */
    const char *file_cache;  /* "POLICY SIZE", or "none"; NULL: the server has none */
    uint32_t kernel_cache;   /* bytes of answers in the kernel; 0: none */
    const char *shared_size; /* "64K"; NULL: the server shares nothing */
    const char *user;        /* NAME[:GROUP] of processes that serve; NULL or "": that of main */
    const char *chroot;      /* their root directory; NULL or "": no other */
    const char *_Atomic tls; /* "CERT KEY …": names of files; or "none" */
    const char *_Atomic overload;    /* "QUEUE HIGH LOW …", a duration, or "none" */
    const char *_Atomic quota;       /* "N/N/…": of each class; NULL without priorities */
    const char *listen_priority;     /* "N/N/…": the class of each listener; or "none" */
    const char *_Atomic per_address; /* "N /A /B": clients of a network at once; or "none" */
};
enum nest__completing { NEST__COMPLETION_ASYNC, NEST__COMPLETION_SYNC }; /* in the words' order */
#define NEST__LONGEST (24u * 60 * 60 * 1000) /* the longest duration, in ms */
enum { NEST__CLIENTS_MOST = 1000000 }; /* the largest max_clients; as in the table of options */
extern struct nest__config nest__config;
enum { NEST__DISPATCHERS_MOST = 64 }; /* the largest `dispatchers`; as in the table of options */
/* COUNT: a number, or `auto`, which is 0. WORD: the number of one of `words`, from 0. LOG: where
 * log lines go. */
enum nest__option_kind {
    NEST__NUMBER,
    NEST__COUNT,
    NEST__SIZE,
    NEST__TEXT,
    NEST__ADDRESSES,
    NEST__DURATION,
    NEST__WORD,
    NEST__LOG
};
struct nest__option { /* generated from the compiler's table of options */
    const char *name;
    enum nest__option_kind kind;
    /* In nest__config, or a filter's: a uint32_t or const char *; _Atomic if `reload` is set. */
    void *value;
    uint32_t least, most; /* of addresses: how many */
    const char *initial;  /* from the specification, or the default */
    const char *help;
    bool reload;       /* HUP changes it in the running server; otherwise a restart is needed */
    const char *words; /* "errors|connections"; WORD: this server is built for those up to `most` */
    /* Of the service that has the option: whether a TEXT is a value of it. 0, or -EINVAL after the
     * reason, which has room for 256 bytes. NULL: any text is one. */
    int (*valid)(const char *text, char *reason);
};
extern const struct nest__option nest__options[];
extern const unsigned nest__option_count;

#endif
