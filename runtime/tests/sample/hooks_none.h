/* hooks_none.h: no advice but that of $timeout: what the compiler emits then. */
#include "../../service/timeout.h"

static inline void nest__on_open(nest_session *s) {
    nest__timeout_open(s);
}
static inline void nest__on_take(nest_session *s, const struct nest__rule *rule, const uint8_t *p,
                                 uint32_t n) {
    (void)s, (void)rule, (void)p, (void)n;
}
static inline void nest__on_timer(nest_session *s, const struct nest__timer *timer) {
    (void)s, (void)timer;
}
static inline void nest__on_reply(nest_session *s, const void *p, size_t n) {
    (void)s, (void)p, (void)n;
}
static inline void nest__on_file(nest_session *s, int fd, uint64_t at, uint64_t n) {
    (void)s, (void)fd, (void)at, (void)n;
}
static inline void nest__on_acted(nest_session *s, uint64_t taken) {
    (void)s, (void)taken;
}
static inline void nest__on_states(nest_session *s) {
    (void)s;
}
static inline void nest__on_end(nest_session *s) {
    (void)s;
}
