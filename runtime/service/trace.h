/* trace.h: what happened on which connection, a line each; for tests and for the curious.
 *
 * Join points: all that a session has. The generated nest__on_* call these. */
#ifndef NEST_FEATURE_TRACE_H
#define NEST_FEATURE_TRACE_H

#include "../seam.h"

void nest__trace_open(nest_session *);
void nest__trace_take(nest_session *, const struct nest__rule *, const void *, size_t);
void nest__trace_timer(nest_session *, const struct nest__timer *);
void nest__trace_reply(nest_session *, const void *, size_t);
void nest__trace_file(nest_session *, int fd, uint64_t at, uint64_t n);
void nest__trace_states(nest_session *);
void nest__trace_end(nest_session *);

#endif
