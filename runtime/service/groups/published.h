/* published.h: which groups have members in other loops. */
#ifndef NEST_SERVICE_GROUPS_PUBLISHED_H
#define NEST_SERVICE_GROUPS_PUBLISHED_H

#include "groups.h"

struct nest__groups_entry {
    struct nest__groups_shared key;
    _Atomic uint64_t members; /* 0: the entry may be used for another group */
};

/* Of a message to another loop: the text follows. */
struct nest__groups_head {
    struct nest__groups_key key;
    uint64_t sent;
};

/* This loop has members, or may have some soon. */
void nest__groups_announce(void);
/* Enters a group that has no entry. Its count is 0, and the entry is the caller's while it is not.
 * 0, and *entry, which is NULL if there are no other loops; or -ENOSPC. */
int nest__groups_enter(const struct nest__groups_key *, struct nest__groups_entry **);
uint64_t nest__groups_elsewhere(const struct nest__groups_key *); /* members in other loops */
/* 0, or -EAGAIN: a loop has not taken earlier messages. */
int nest__groups_send_elsewhere(const struct nest__groups_key *, uint64_t sent,
                                const struct nest__send_text *);

#endif
