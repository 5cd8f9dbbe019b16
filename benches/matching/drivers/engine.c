/* engine.c: nest's whole engine, as io drives it (seam.h): a session, its states, its actions,
 * which ask for their parts by $ptr and $len. No socket, and nothing is replied.
 *
 * Knows nothing of how matching is done. */
#define main nest__main /* the server's own, which is not run */
#include "server.c"
#undef main

#include "bench.h"

#include <string.h>

size_t bench_at; /* actions.c: where the message begins */
static nest_session driver_session;
static _Atomic uint64_t driver_ended[NEST_REASONS];
static struct nest__worker driver_worker;

bool bench_setup(void) {
    nest__config.input_buffer = 64 * 1024 * 1024;
    nest__config.output_buffer = 64 * 1024;
    nest__config.max_clients = 1;
    nest__ended = driver_ended;
    nest__worker_enter(&driver_worker);
    return true;
}

size_t bench_code(void) {
    return 0;
}

void bench_begin(const uint8_t *input) {
    static const struct nest__arrival arrival = {.fd = -1, .kind = NEST__SCRIPT};
    (void)input;
    bench_at = 0;
    if (driver_session.work != NULL) {
        nest__released(&driver_session);
    }
    memset(&driver_session, 0, sizeof driver_session);
    nest__open(&driver_session, &arrival);
}

/* As io does with what it has received: in its own buffer, or behind what was left unread. */
bool bench_feed(uint8_t *piece, size_t n) {
    nest_session *s = &driver_session;
    while (n > 0) {
        uint8_t *behind;
        uint32_t room = nest__in_space(s, &s->c0, &behind);
        uint32_t take = room > 0 && room < n ? room : (uint32_t)n;
        struct nest__window window = {piece, take, room == 0};
        unsigned wants;
        if (room > 0) {
            memcpy(behind, piece, take);
            window.p = behind;
        }
        nest__chan_received(&s->c0, false);
        do {
            wants = nest__pump(s, &s->c0, &window);
        } while ((wants & NEST__WANT_AGAIN) != 0);
        if ((wants & NEST__WANT_END) != 0 || (window.lent && nest__own(s, &window) < 0)) {
            return false;
        }
        piece += take;
        n -= take;
    }
    return true;
}

bool bench_end(const uint8_t *end) {
    (void)end;
    return driver_session.phase == NEST__READING &&
           (driver_session.work == NULL || driver_session.work->rest_n == 0);
}
