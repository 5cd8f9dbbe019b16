/* trace.h: a line for each thing that happens on a connection; for tests and for debugging. */
#ifndef NEST_SERVICE_TRACE_H
#define NEST_SERVICE_TRACE_H

#include "../../seam.h"

void nest__trace_open(nest_session *);
void nest__trace_take(nest_session *, const struct nest__rule *, const void *, size_t);
void nest__trace_timer(nest_session *, const struct nest__timer *);
void nest__trace_reply(nest_session *, const void *, size_t);
void nest__trace_file(nest_session *, int fd, uint64_t at, uint64_t n);
void nest__trace_states(nest_session *);
void nest__trace_end(nest_session *);

#endif
