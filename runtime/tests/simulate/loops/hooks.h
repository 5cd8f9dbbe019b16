/* hooks.h: what the join points tell the simulation of several loops. */
#include "loops.h"

static inline void nest__sim_open(nest_session *s) {
    clients_opened(s);
}
static inline void nest__sim_mail(nest_session *s, uint32_t kind, const uint8_t *bytes,
                                  uint32_t n) {
    (void)kind;
    book_mail(s, bytes, n);
}
static inline void nest__sim_end(nest_session *s) {
    book_closed(client_of(s));
}
