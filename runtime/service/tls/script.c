/* script.c: a script has no encryption, but stands for connections that have it.
 *
 * Called by actions. The environment variable NEST_ENCRYPTED says which: `yes`: all of them, from
 * their beginning; `later`: those whose action says so, from there on. `nest bench` learns from it
 * what a server answers to them. State: which conversations are encrypted, a bit for each. Must not
 * know how a handshake works. */
#include "../../engine/engine.h"
#include "../../platform/platform.h"
#include "tls.h"

#include <stdlib.h>
#include <string.h>

enum { SCRIPT_BITS = 1 << 21 };

static uint8_t script_bits[SCRIPT_BITS / 8]; /* scope: process; by the number of a conversation */

enum nest_tls nest_tls(nest_session *s) {
    const char *said = getenv("NEST_ENCRYPTED");
    uint64_t id = nest_id(s);
    if (said == NULL || strcmp(said, "later") != 0) {
        return said == NULL ? NEST_TLS_NONE : NEST_TLS_ON;
    }
    if (id >= SCRIPT_BITS) {
        return NEST_TLS_NONE;
    }
    return (script_bits[id / 8] >> (id % 8) & 1) != 0 ? NEST_TLS_ON : NEST_TLS_READY;
}

__attribute__((noinline)) static int script_start_tls(nest_session *s) {
    if (nest__tls_ahead(s) < 0) {
        return -1;
    }
    uint64_t id = nest_id(s);
    script_bits[id / 8] |= (uint8_t)(1U << (id % 8));
    nest__say("conversation %llu is encrypted from here on", (unsigned long long)id);
    return 0;
}

int nest_start_tls(nest_session *s) {
    struct nest__trip *trip = nest__at_home(s);
    int result = script_start_tls(s);
    nest__from_home(trip);
    return result;
}
