/* channels_none.c: sessions have channel 0 alone, which their visits and waits serve.
 *
 * Called as channels.h says. No state. */
#include "channels.h"

struct nest__chan *nest__served(nest_session *s) {
    return &s->c0;
}

int nest__channels_settle(nest_session *s) {
    (void)s;
    return 0;
}

void nest__channels_rest(nest_session *s) {
    (void)s;
}

int nest__channels_first(nest_session *s) {
    (void)s;
    return 0;
}

nest_session *nest__channels_completed(nest_session *s, struct nest__chan *chan,
                                       const struct nest__completion *done) {
    (void)s, (void)chan, (void)done;
    return NULL;
}

bool nest__channels_expired(uint32_t number) {
    (void)number;
    return false;
}

bool nest__channels_left(const nest_session *s) {
    (void)s;
    return false;
}

bool nest__channels_deliver(const nest_session *s) {
    (void)s;
    return false;
}
