/* sinks.h: what the files of this service share.
 *
 * Included by service/sink/ alone. */
#ifndef NEST_SERVICE_SINKS_H
#define NEST_SERVICE_SINKS_H

#include "../../workers/service_process.h"
#include "sink.h"

enum nest__sink_stream { NEST__SINK_OF_ACCESS, NEST__SINK_OF_ERRORS, NEST__SINK_STREAMS };
enum nest__sink_kind { NEST__SINK_STDERR, NEST__SINK_FILE, NEST__SINK_SYSLOG, NEST__SINK_JOURNAL };
struct nest__sink_target {
    enum nest__sink_kind kind;
    int fd; /* owned, but for stderr */
};
struct nest__sink_targets {
    struct nest__sink_target of[NEST__SINK_STREAMS];
    bool same; /* both are one */
};

/* -- target.c */
/* Opens what the option's value names. A relative path begins at the directory `home`. 0, or
 * -errno. */
int nest__sink_open(int home, const char *where, struct nest__sink_target *);
/* Closes them, and forgets what was kept for them. */
void nest__sink_leave(struct nest__sink_targets *);
/* Adds a record without its tag. Lines for stderr and files are kept until nest__sink_flush.
 * Returns how many lines were lost, which are counted. */
unsigned nest__sink_write(const struct nest__sink_targets *, enum nest__sink_tag, const char *text,
                          size_t n);
/* `last`: a failure is not told, because nobody would learn more from it. Returns the same. */
unsigned nest__sink_flush(const struct nest__sink_targets *, bool last);
/* From now on a target that takes nothing is waited for as long, in all. What it has not taken then
 * is lost. */
void nest__sink_allow(unsigned ms);

/* -- drain.c */
/* Writes what is in the pipe. Returns how many bytes that were. */
size_t nest__sink_drain(int pipe, const struct nest__sink_targets *, bool last);

/* -- sink.c */
/* Writes records into the pipe; without one to stderr. False: the pipe is full. */
bool nest__sink_send(const char *records, size_t n);
/* Writes a line that is no client's, and counts it if it is lost. Async-signal-safe. */
bool nest__sink_send_error(const void *line, size_t n);
int nest__sink_pipe(void);     /* its end for the service process */
int nest__sink_handover(void); /* tells the service process of new targets */
struct nest__sink_targets *nest__sink_targets(void);

/* -- batch.c, each.c */
/* Puts a line that is no client's, before anything that comes later. As nest__tell. */
bool nest__sink_tell(const void *line, size_t n);

#endif
