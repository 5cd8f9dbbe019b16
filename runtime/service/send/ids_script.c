/* ids_script.c: which connections of a script exist, by their numbers.
 *
 * Called at join points and by send.c. No state: all sessions are this loop's. Must not know
 * messages. */
#include "../../workers/mailbox.h"
#include "send.h"

int nest__send_start(void) {
    return 0;
}

void nest__send_open(nest_session *s) {
    (void)s;
}

void nest__send_end(nest_session *s) {
    (void)s;
}

bool nest__send_find(uint64_t id, uint16_t *serial, nest__ref *to) {
    *serial = nest__serial;
    to->slot = (uint32_t)((id - 1) % nest__config.max_clients);
    to->gen = (uint32_t)((id - 1) / nest__config.max_clients);
    return id != 0 && nest__mail_alive(*to);
}
