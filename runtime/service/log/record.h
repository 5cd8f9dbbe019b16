/* record.h: what a line about a client says, and its formats.
 *
 * Included by service/log/ alone. */
#ifndef NEST_SERVICE_LOG_RECORD_H
#define NEST_SERVICE_LOG_RECORD_H

#include "log.h"

enum nest__log_level { NEST__LOG_ERRORS, NEST__LOG_CONNECTIONS, NEST__LOG_REQUESTS_TOO };
enum nest__log_format { /* in the order of the option's words */
                        NEST__LOG_LINE,
                        NEST__LOG_COMMON,
                        NEST__LOG_COMBINED,
                        NEST__LOG_LOGFMT,
                        NEST__LOG_JSON
};
struct nest__record {
    const nest_session *session;         /* its fields are those of the line; NULL: */
    const struct nest__outside *outside; /* the request's are; `in` and `us` are not known */
    const char *rule;                    /* of a request; NULL: a connection has ended */
    const char *reason;                  /* why it has */
    const char *peer;
    uint64_t in, out;  /* bytes */
    uint64_t us;       /* how long it took */
    uint32_t messages; /* of a connection */
};

/* Writes the record as nest__sink_put takes it. Returns its size; 0: the format has no such line.
 */
size_t nest__record_format(const struct nest__record *, char to[NEST__SINK_RECORD]);
/* Whether lines for requests have `us`. */
bool nest__record_times(void);

#endif
