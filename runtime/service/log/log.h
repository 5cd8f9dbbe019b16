/* log.h: option logging: a line when a connection ends; with `requests` one for each request, too.
 *
 * A request is a message, or, in a specification with $logRequest, what comes until an action calls
 * it. */
#ifndef NEST_SERVICE_LOG_H
#define NEST_SERVICE_LOG_H

#include "../fields/fields.h"
#include "../sink/sink.h"

/* A request that was answered in front of the server, which has no session for it. */
struct nest__outside {
    const char *rule; /* in place of a rule's name */
    const char *peer;
    const struct nest__field *fields; /* of its line, `count` of them */
    unsigned count;
    uint64_t out; /* bytes that were sent */
};
/* Writes its line as nest__sink_put takes it. Returns its size; 0: requests are not logged. */
size_t nest__log_outside(const struct nest__outside *, char to[NEST__SINK_RECORD]);

/* -- join points */
int nest__log_prepare(void); /* what all workers share; never fails */
struct nest__need nest__log_need(void);
void nest__log_open(nest_session *);
void nest__log_take(nest_session *, const struct nest__rule *, const void *, size_t);
void nest__log_timer(nest_session *, const struct nest__timer *);
void nest__log_acted(nest_session *, uint64_t taken);
void nest__log_replied(nest_session *, size_t items, uint64_t n);
void nest__log_file(nest_session *, int fd, uint64_t at, uint64_t n);
void nest__log_end(nest_session *);

#endif
