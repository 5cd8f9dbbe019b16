/* groups.h: groups of connections: $join, $leave, $broadcast, $members.
 *
 * loop.c and blocking.c know the members and reach them; groups.c has the directives. Every worker
 * publishes its members in memory that the other workers read: so members of a worker that has died
 * can be removed, and no worker waits for another.
 *
 * A message reaches one worker after another. Who has heard of it may join meanwhile, and must not
 * get it: so a membership has the time at which it began, and a message the time at which it was
 * sent, before any member could get it. Both are of nest__clock_ns, which is one for all. */
#ifndef NEST_SERVICE_GROUPS_H
#define NEST_SERVICE_GROUPS_H

#include "../send/send.h"

enum {
    NEST__GROUPS_NAME = 63, /* bytes of a name */
    NEST__GROUPS_EACH = 64, /* groups of a connection */
    NEST__GROUPS_WORDS = 8  /* of a key */
};

/* The name of a group, or its number; unused bytes are zero, so that keys can be compared. */
struct nest__groups_key {
    uint64_t words[NEST__GROUPS_WORDS];
    uint64_t hash; /* never 0 */
};

/* A key that other workers read at any time. */
struct nest__groups_shared {
    _Atomic uint64_t hash; /* 0: none */
    _Atomic uint64_t words[NEST__GROUPS_WORDS];
};
static inline void nest__groups_publish(struct nest__groups_shared *to,
                                        const struct nest__groups_key *key) {
    for (int i = 0; i < NEST__GROUPS_WORDS; i++) {
        atomic_store_explicit(&to->words[i], key->words[i], memory_order_relaxed);
    }
    atomic_store(&to->hash, key->hash);
}
static inline bool nest__groups_same(struct nest__groups_shared *is,
                                     const struct nest__groups_key *key) {
    bool same = atomic_load(&is->hash) == key->hash;
    for (int i = 0; i < NEST__GROUPS_WORDS && same; i++) {
        same = atomic_load_explicit(&is->words[i], memory_order_relaxed) == key->words[i];
    }
    return same;
}

/* -- loop.c, blocking.c */
/* 0, also if the session is a member already; -ENOSPC, -ENOMEM. */
int nest__groups_join(nest_session *, const struct nest__groups_key *);
void nest__groups_leave(nest_session *, const struct nest__groups_key *);
uint64_t nest__groups_members(const struct nest__groups_key *);
/* Sends to all members, except for this session if there is one. 0, or -errno: some members will
 * not get it. */
int nest__groups_post(const struct nest__groups_key *, const struct nest__send_text *,
                      const nest_session *except);

/* -- join points */
int nest__groups_start(void);
int nest__groups_serve(void);
struct nest__need nest__groups_need(void);
void nest__groups_open(nest_session *);
void nest__groups_end(nest_session *);
void nest__groups_release(nest_session *);
void nest__groups_mail(nest_session *, uint32_t kind, const uint8_t *bytes, uint32_t n);
void nest__groups_spread(uint32_t kind, const uint8_t *bytes, uint32_t n);
void nest__groups_reaped(uint32_t worker);

#endif
