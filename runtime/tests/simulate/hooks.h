/* hooks.h: what the join points tell the simulation. */
#include "simulate.h"

static inline void nest__sim_open(nest_session *s) {
    sim_on_open(s);
}
static inline void nest__sim_take(nest_session *s, const struct nest__rule *rule, const uint8_t *p,
                                  uint32_t n) {
    sim_on_take(s, rule, p, n);
}
static inline void nest__sim_timer(nest_session *s, const struct nest__timer *timer) {
    sim_on_timer(s, timer);
}
static inline void nest__sim_reply(nest_session *s, const void *p, size_t n) {
    sim_on_reply(s, p, n);
}
static inline void nest__sim_file(nest_session *s, int fd, uint64_t at, uint64_t n) {
    (void)fd, (void)at;
    sim_on_file(s, n);
}
static inline void nest__sim_acted(nest_session *s, uint64_t taken) {
    sim_on_acted(s, taken);
}
static inline void nest__sim_mail(nest_session *s, uint32_t kind, const uint8_t *bytes,
                                  uint32_t n) {
    sim_on_mail(s, kind, bytes, n);
}
static inline void nest__sim_end(nest_session *s) {
    sim_on_end(s);
}
