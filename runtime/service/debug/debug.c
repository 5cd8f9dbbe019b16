/* debug.c: which events are recorded, and what each record says.
 *
 * Called at join points. State: the phase of the stop that was recorded last. Must not know where
 * records are, nor which model runs it. */
#include "debug.h"
#include "../../platform/platform.h"
#include "../processors/processors.h"
#include "../../workers/children.h"
#include "recorder.h"

#include <unistd.h>

static enum nest__stop_phase debug_phase; /* scope: process; the supervisor's */

/* -- connections */

static void debug_add(nest_session *s, struct nest__recorder_event event) {
    event.connection = nest_id(s);
    nest__recorder_add(nest__writer(s), &event);
}

static void debug_note(nest_session *s, enum nest__recorder_kind kind, uint64_t value) {
    debug_add(s, (struct nest__recorder_event){
                     .kind = kind, .what = NEST__DEBUG_NO_WHAT, .value = value});
}

static void debug_begin(nest_session *s, enum nest__recorder_role role, uint32_t what) {
    debug_add(s,
              (struct nest__recorder_event){.kind = NEST__DEBUG_BEGIN, .role = role, .what = what});
}

void nest__debug_open(nest_session *s) {
    debug_note(s, NEST__DEBUG_ACCEPT, (uint64_t)(s->c0.fd < 0 ? 0 : s->c0.fd));
}

void nest__debug_input(nest_session *s, uint64_t n) {
    debug_note(s, NEST__DEBUG_READ, n);
}

/* The actions of rules have a join point of their own, which says what they are about. */
void nest__debug_act(nest_session *s) {
    int rule = nest__current_rule();
    if (rule == NEST__ACT_START) {
        debug_begin(s, NEST__ROLE_START, NEST__DEBUG_NO_WHAT);
    } else if (rule == NEST__ACT_END) {
        debug_begin(s, NEST__ROLE_END, NEST__DEBUG_NO_WHAT);
    } else if (rule == NEST__ACT_OVERLOAD) {
        debug_begin(s, NEST__ROLE_OVERLOAD, NEST__DEBUG_NO_WHAT);
    }
}

void nest__debug_take(nest_session *s, const struct nest__rule *rule, const uint8_t *bytes,
                      uint32_t n) {
    uint32_t number = (uint32_t)(rule - nest__rules);
    (void)bytes;
    debug_add(s,
              (struct nest__recorder_event){.kind = NEST__DEBUG_MATCH, .what = number, .value = n});
    debug_begin(s, NEST__ROLE_RULE, number);
}

void nest__debug_timer(nest_session *s, const struct nest__timer *timer) {
    uint32_t number = (uint32_t)(timer - nest__timers);
    debug_add(s, (struct nest__recorder_event){.kind = NEST__DEBUG_EXPIRE, .what = number});
    debug_begin(s, NEST__ROLE_TIMER, number);
}

void nest__debug_wait(nest_session *s) {
    debug_note(s, NEST__DEBUG_WAIT, 0);
}

void nest__debug_resume(nest_session *s) {
    debug_note(s, NEST__DEBUG_RESUME, 0);
}

void nest__debug_acted(nest_session *s, uint64_t taken) {
    debug_note(s, NEST__DEBUG_END, taken);
}

void nest__debug_states(nest_session *s) {
    unsigned last = nest_lastseen(s);
    uint32_t what = last < nest__state_count ? last : NEST__DEBUG_NO_WHAT;
    debug_add(s, (struct nest__recorder_event){
                     .kind = NEST__DEBUG_STATES, .what = what, .value = s->states});
}

void nest__debug_mail(nest_session *s, uint32_t kind, const uint8_t *bytes, uint32_t n) {
    (void)kind, (void)bytes;
    debug_note(s, NEST__DEBUG_MAIL, n);
}

void nest__debug_reply(nest_session *s, const void *bytes, size_t n) {
    (void)bytes;
    debug_note(s, NEST__DEBUG_REPLY, n);
}

void nest__debug_file(nest_session *s, int fd, uint64_t at, uint64_t n) {
    (void)fd, (void)at;
    debug_note(s, NEST__DEBUG_REPLY, n);
    debug_note(s, NEST__DEBUG_SENT, n);
}

void nest__debug_output(nest_session *s, uint64_t n) {
    debug_note(s, NEST__DEBUG_SENT, n);
}

void nest__debug_end(nest_session *s) {
    debug_add(s, (struct nest__recorder_event){.kind = NEST__DEBUG_OVER, .what = s->reason});
}

void nest__debug_release(nest_session *s) {
    debug_note(s, NEST__DEBUG_CLOSE, 0);
}

/* -- the server */

static void debug_server(enum nest__recorder_kind kind, uint32_t what, uint64_t value) {
    nest__recorder_add(0,
                       &(struct nest__recorder_event){.kind = kind, .what = what, .value = value});
}

int nest__debug_start(void) {
    int error = nest__recorder_create(nest__recorder_workers(), nest__writers());
    if (error == 0) {
        debug_server(NEST__DEBUG_START, NEST__DEBUG_NO_WHAT, (uint64_t)getpid());
    }
    return error;
}

int nest__debug_serve(void) {
    const void *own = nest__report_own(0);
    uint32_t worker = 0;
    if (own == NULL) { /* it serves no clients */
        return nest__recorder_open(NEST__DEBUG_NOBODY);
    }
    while (nest__report_page(worker) != own) {
        worker++;
    }
    int error = nest__recorder_open(worker);
    if (error == 0) {
        debug_server(NEST__DEBUG_START, NEST__DEBUG_NO_WHAT, (uint64_t)getpid());
    }
    return error;
}

unsigned nest__debug_mind(void) {
    enum nest__stop_phase phase = nest__phase();
    if (phase != debug_phase) {
        debug_phase = phase;
        debug_server(NEST__DEBUG_STOP, NEST__DEBUG_NO_WHAT, (uint64_t)phase);
    }
    return 0;
}

void nest__debug_reaped(uint32_t worker) {
    debug_server(NEST__DEBUG_GONE, worker, (uint64_t)nest__child(worker)->pid);
}

void nest__debug_lost(long process) {
    debug_server(NEST__DEBUG_KILLED, NEST__DEBUG_NO_WHAT, (uint64_t)process);
}

void nest__debug_reloaded(void) {
    debug_server(NEST__DEBUG_RELOAD, NEST__DEBUG_NO_WHAT, 0);
}

void nest__debug_close(void) {
    if (nest__supervises()) {
        debug_server(NEST__DEBUG_FINISH, NEST__DEBUG_NO_WHAT, 0);
    }
}
