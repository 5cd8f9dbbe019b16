/* supervisor.h: the main process owns the listening sockets for life; workers are forked from it,
 * and may die.
 *
 * What differs between worker models is a policy: how many workers are wanted now, and what the
 * supervisor minds for them. workers/supervisor_none.c: there is no supervisor, the main process
 * serves. */
#ifndef NEST_WORKERS_SUPERVISOR_H
#define NEST_WORKERS_SUPERVISOR_H

#include "../seam.h"
#include "shared.h"
#include "stop.h"

#include <signal.h>
#include <sys/types.h>

/* -- for worker models and main */
/* At the preparation of a worker model, for at most that many workers at a time: from here on no
 * TERM is lost. 0, or -errno and said why. */
int nest__supervisor_prepare(uint32_t workers);
/* Runs the server; its exit status. Without listeners no other process is made: then it is what
 * nest__serve_alone says. */
int nest__supervise(void);
bool nest__supervises(void); /* this process has forked workers, and is none: what exit handlers
                                would see is not what actions left */
pid_t nest__supervisor(void);
/* In a worker: whether it does what this TERM, INT or HUP says. The supervisor passes them on and
 * counts them, and a signal that reaches both is meant once. Async-signal-safe. */
bool nest__heeds(int signal);
/* HUP, in a process that serves many: reads the configuration again. The supervisor, if there is
 * one, reports it. */
void nest__reload_follow(void);
void nest__supervisor_wake(void); /* from a worker, or a signal handler */
/* For nest__crash_install. */
const char *nest__crash_consequence(void);

/* -- a worker model supplies: workers */
/* In a process that has no supervisor; an exit status. */
int nest__serve_alone(void);
/* In the process of a worker; an exit status. TERM, INT and HUP are blocked, and `mask` is what
 * the worker is to run with. `life` counts the workers that had the same number before. */
int nest__serve_worker(uint32_t worker, uint32_t life, const sigset_t *mask);

/* -- a policy supplies. It runs in the supervisor. */
/* The workers serve many clients at a time, and measure drainTimeout themselves. Else each serves
 * one at a time, and the supervisor measures it. */
extern const bool nest__policy_many;
/* If not many: the workers serve one client after another. Else each ends after its client. */
extern const bool nest__policy_successive;
uint32_t nest__policy_wanted(void); /* how many workers are to be forked now */
/* A number was chosen for the next worker. It is free, and its report is cleared. */
void nest__policy_fork(uint32_t worker);
/* The worker has ended, or could not be forked. True: it had a client; or, if workers serve many or
 * one after another, it was still wanted. */
bool nest__policy_gone(uint32_t worker);
/* Whenever the supervisor is awake; `woken`: a worker asked for it. ms until it must be awake
 * again, -1: it need not. */
int nest__policy_mind(bool woken);
void nest__policy_reload(void); /* the configuration has changed: workers forked from now on have
                                   the new one */
void nest__policy_stop(enum nest__stop_phase); /* before workers are told */
/* A worker that serves many lives. True: systemd's watchdog is to hear of it. */
bool nest__policy_beat(pid_t);

/* -- for policies */
enum nest__stop_phase nest__phase(void);
void nest__finish(void); /* begins a stop, as if by TERM */

/* The sooner of two timeouts of poll. */
static inline int nest__sooner(int a, int b) {
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

#endif
