/* debug.h: option mode debug: every event inside the server is recorded in a file of rings.
 *
 * Each thread that runs sessions, and the supervisor, writes to a ring of its own. The file is
 * mapped, so what was written is there after a crash or a SIGKILL. */
#ifndef NEST_SERVICE_DEBUG_H
#define NEST_SERVICE_DEBUG_H

#include "../../seam.h"

/* -- in the process that starts workers; 0 or -errno after a message */
int nest__debug_start(void);
/* -- in the supervisor */
unsigned nest__debug_mind(void); /* always 0: it need not be called again */
void nest__debug_reaped(uint32_t worker);
void nest__debug_lost(long process);
void nest__debug_reloaded(void);
void nest__debug_close(void);
/* -- in a worker, and in other processes of the server */
int nest__debug_serve(void);
/* -- in a worker */
void nest__debug_open(nest_session *);
void nest__debug_input(nest_session *, uint64_t n);
void nest__debug_act(nest_session *);
void nest__debug_take(nest_session *, const struct nest__rule *, const uint8_t *, uint32_t n);
void nest__debug_timer(nest_session *, const struct nest__timer *);
void nest__debug_wait(nest_session *);
void nest__debug_resume(nest_session *);
void nest__debug_acted(nest_session *, uint64_t taken);
void nest__debug_states(nest_session *);
void nest__debug_mail(nest_session *, uint32_t kind, const uint8_t *, uint32_t n);
void nest__debug_reply(nest_session *, const void *, size_t n);
void nest__debug_file(nest_session *, int fd, uint64_t at, uint64_t n);
void nest__debug_output(nest_session *, uint64_t n);
void nest__debug_end(nest_session *);
void nest__debug_release(nest_session *);

#endif
