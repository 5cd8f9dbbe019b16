/* published_script.c: the one loop of a script: there are no others.
 *
 * Called by loop.c. No state. Must not know members. */
#include "published.h"

int nest__groups_start(void) {
    return 0;
}

void nest__groups_announce(void) {
}

int nest__groups_enter(const struct nest__groups_key *key, struct nest__groups_entry **entry) {
    (void)key;
    *entry = NULL;
    return 0;
}

uint64_t nest__groups_elsewhere(const struct nest__groups_key *key) {
    (void)key;
    return 0;
}

int nest__groups_send_elsewhere(const struct nest__groups_key *key, uint64_t sent,
                                const struct nest__send_text *text) {
    (void)key, (void)sent, (void)text;
    return 0;
}
