/* metrics.h: options profiling and metrics: the server counts what it does.
 *
 * Each worker counts for itself. The supervisor adds what workers that have ended counted. The sum
 * is told by HTTP at the address `metrics`, from the service process; without an address it is
 * printed when the server ends. */
#ifndef NEST_SERVICE_METRICS_H
#define NEST_SERVICE_METRICS_H

#include "../../seam.h"
#include "../../workers/service_process.h"

/* -- in the process that starts workers; 0 or -errno after a message */
int nest__metrics_start(void);
void nest__metrics_close(void);
/* -- in the supervisor */
unsigned nest__metrics_mind(void); /* always 0: it need not be called again */
void nest__metrics_reaped(uint32_t worker);
/* -- in a worker, and in the service process */
int nest__metrics_serve(void);
/* -- in a worker */
struct nest__need nest__metrics_need(void);
void nest__metrics_shaken(bool complete, bool resumed);
void nest__metrics_open(nest_session *);
void nest__metrics_take(nest_session *, const struct nest__rule *, const uint8_t *, uint32_t n);
void nest__metrics_timer(nest_session *, const struct nest__timer *);
void nest__metrics_replied(nest_session *, size_t items, uint64_t n);
void nest__metrics_file(nest_session *, int fd, uint64_t at, uint64_t n);
void nest__metrics_wait(nest_session *);
void nest__metrics_resume(nest_session *);
void nest__metrics_acted(nest_session *, uint64_t taken);
void nest__metrics_end(nest_session *);
/* -- in the service process */
extern const struct nest__task nest__metrics_task;

#endif
