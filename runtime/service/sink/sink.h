/* sink.h: options accessLog and errorLog: where log lines go.
 *
 * Workers put records into one pipe, which never makes them wait: what does not fit is dropped and
 * counted. The service process empties it, and writes the lines where the configuration says. The
 * supervisor opens files and sockets, because only it may have the rights, and opens them anew at
 * HUP and USR1. Without a supervisor lines go to stderr at once. */
#ifndef NEST_SERVICE_SINK_H
#define NEST_SERVICE_SINK_H

#include "../../seam.h"

/* A record begins with one of these bytes, which lines do not contain: their text is escaped. */
enum nest__sink_tag {
    NEST__SINK_ACCESS = 1, /* then a line about a client */
    NEST__SINK_FIELDS =
        2,               /* the same as lines NAME=value for the journal, the first MESSAGE=line */
    NEST__SINK_ERROR = 3 /* then any other line */
};
enum { NEST__SINK_RECORD = 4096 }; /* bytes, at most, with tag and newline; PIPE_BUF */

/* Puts a record, n bytes that end in a newline. A loop sends many together, after some
 * milliseconds. Any thread may call it. */
void nest__sink_put(const char *record, size_t n);
/* Whether lines about clients go to the journal, which takes NEST__SINK_FIELDS. */
bool nest__sink_journals(void);

/* -- drain.c: the same in the service process, for lines about clients that only it knows, and in
 * the supervisor when the server ends. All between the two is written with the second, at the
 * latest; a target that takes nothing is waited for in all of it together. */
void nest__sink_serve_begin(void);
void nest__sink_serve_put(const char *record, size_t n);
void nest__sink_serve_flush(void);

/* -- direct.c: lines that go to stderr at once */
void nest__sink_direct_prepare(void); /* before workers are made */
void nest__sink_direct(const char *line, size_t n);
void nest__sink_drop(uint64_t lines); /* counts lines that were lost */
uint64_t nest__sink_dropped(void);    /* how many since the last call */
/* "TIME warn N lines were dropped …" with its newline; returns its length. */
enum { NEST__SINK_DROP_TEXT = 128 };
size_t nest__sink_drop_text(char to[NEST__SINK_DROP_TEXT], uint64_t lines);

/* -- join points */
int nest__sink_check(void);
int nest__sink_start(void);
int nest__sink_serve(void);
void nest__sink_reloaded(void);
unsigned nest__sink_mind(void); /* always 0 */
unsigned nest__sink_due(void);
void nest__sink_tick(void);
void nest__sink_close(void);
extern const struct nest__task nest__sink_task; /* workers/service_process.h */

#endif
