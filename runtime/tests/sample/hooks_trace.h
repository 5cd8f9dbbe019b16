/* hooks_trace.h: the trace is enabled beside it: what the compiler emits then. */
#include "../../service/timeout.h"
#include "../../service/trace.h"

static inline void nest__on_open(nest_session *s) {
    nest__timeout_open(s);
    nest__trace_open(s);
}
static inline void nest__on_take(nest_session *s, const struct nest__rule *rule, const uint8_t *p,
                                 uint32_t n) {
    nest__trace_take(s, rule, p, n);
}
static inline void nest__on_timer(nest_session *s, const struct nest__timer *timer) {
    nest__trace_timer(s, timer);
}
static inline void nest__on_reply(nest_session *s, const void *p, size_t n) {
    nest__trace_reply(s, p, n);
}
static inline void nest__on_file(nest_session *s, int fd, uint64_t at, uint64_t n) {
    nest__trace_file(s, fd, at, n);
}
static inline void nest__on_acted(nest_session *s, uint64_t taken) {
    (void)s, (void)taken;
}
static inline void nest__on_states(nest_session *s) {
    nest__trace_states(s);
}
static inline void nest__on_end(nest_session *s) {
    nest__trace_end(s);
}
