/* blocking.c: groups whose members are workers that block.
 *
 * Called by groups.c and at join points. State: in reports, the groups of each worker's session,
 * and how many slots a process of threads has used. A message is stored once (store.c), and each
 * member gets mail that says where, also if it leaves before it takes this mail. Must not know what
 * a message is about. */
#include "../../platform/platform.h"
#include "../../workers/supervisor.h"
#include "../mail/mail.h"
#include "groups.h"
#include "store.h"

#include <errno.h>
#include <string.h>

struct groups_membership {
    struct nest__groups_shared key;
    _Atomic uint64_t since; /* when it began; 0: it has ended */
};

struct groups_own {        /* of a worker */
    _Atomic uint32_t gen;  /* of its session */
    _Atomic uint32_t used; /* memberships below this index have been used */
    struct groups_membership memberships[NEST__GROUPS_EACH];
};

struct groups_report {
    _Atomic uint32_t serial; /* of the worker */
    _Atomic uint32_t seen;   /* slots below have been used; 0: the worker has died, or has begun */
    struct groups_own slots[];
};

static size_t groups_at; /* scope: process; in a report */

int nest__groups_start(void) {
    uint32_t slots = nest__policy_many ? nest__config.max_clients : 1;
    groups_at =
        nest__report_reserve(sizeof(struct groups_report) + slots * sizeof(struct groups_own));
    int error = nest__groups_store_prepare(nest__config.max_clients + 1);
    if (error != 0) {
        nest__say("cannot start: no memory for groups: %s", strerror(-error));
    }
    return error;
}

/* Of a worker that is a process, all code sends from one place in the store; of threads, each from
 * its own. The service process, which has no report, has the last place. */
int nest__groups_serve(void) {
    const struct nest__report *own = nest__report_own(0);
    uint32_t place = own == NULL ? nest__config.max_clients : 0;
    while (own != NULL && !nest__policy_many && own != nest__report_page(place)) {
        place++;
    }
    nest__groups_store_open(place);
    return 0;
}

struct nest__need nest__groups_need(void) {
    uint64_t most = sizeof(struct groups_own) + nest__groups_store_size();
    return (struct nest__need){"its groups, and what it sends to groups", NULL, most, 0};
}

/* -- memberships */

static struct groups_report *groups_report(uint32_t worker) {
    return (void *)((char *)nest__report_page(worker) + groups_at);
}

static struct groups_own *groups_of(uint32_t slot) {
    return nest__policy_many ? &groups_report(0)->slots[slot] : &groups_report(slot)->slots[0];
}

/* Whether a worker has ever had this slot. Workers get the lowest number that is free. */
static bool groups_ever(uint32_t slot) {
    if (slot >= nest__config.max_clients) {
        return false;
    }
    if (nest__policy_many) {
        return slot < atomic_load(&groups_report(0)->seen);
    }
    return slot < atomic_load(&((const struct nest__orders *)nest__orders_page)->seen);
}

static uint32_t groups_used(struct groups_own *own) {
    uint32_t used = atomic_load(&own->used);
    return used <= NEST__GROUPS_EACH ? used : NEST__GROUPS_EACH;
}

/* The index of the membership; NEST__GROUPS_EACH: there is none. */
static uint32_t groups_find(struct groups_own *own, const struct nest__groups_key *key) {
    uint32_t used = groups_used(own);
    for (uint32_t i = 0; i < used; i++) {
        if (nest__groups_same(&own->memberships[i].key, key)) {
            return i;
        }
    }
    return NEST__GROUPS_EACH;
}

int nest__groups_join(nest_session *s, const struct nest__groups_key *key) {
    struct groups_own *own = groups_of(s->self.slot);
    uint32_t i = 0;
    if (groups_find(own, key) < NEST__GROUPS_EACH) {
        return 0;
    }
    while (i < NEST__GROUPS_EACH && atomic_load(&own->memberships[i].key.hash) != 0) {
        i++;
    }
    if (i == NEST__GROUPS_EACH) {
        return -ENOSPC;
    }
    atomic_store(&own->memberships[i].since, nest__clock_ns());
    nest__groups_publish(&own->memberships[i].key, key);
    if (i >= groups_used(own)) {
        atomic_store(&own->used, i + 1);
    }
    return 0;
}

static void groups_clear(struct groups_own *own, uint32_t index) {
    atomic_store(&own->memberships[index].key.hash, 0);
    atomic_store(&own->memberships[index].since, 0);
}

void nest__groups_leave(nest_session *s, const struct nest__groups_key *key) {
    struct groups_own *own = groups_of(s->self.slot);
    uint32_t index = groups_find(own, key);
    if (index < NEST__GROUPS_EACH) {
        groups_clear(own, index);
    }
}

static void groups_clear_all(struct groups_own *own) {
    for (uint32_t i = 0; i < groups_used(own); i++) {
        groups_clear(own, i);
    }
    atomic_store(&own->used, 0);
}

void nest__groups_open(nest_session *s) {
    struct groups_report *own = groups_report(nest__policy_many ? 0 : s->self.slot);
    uint32_t seen = atomic_load(&own->seen);
    while (nest__policy_many && seen <= s->self.slot &&
           !atomic_compare_exchange_weak(&own->seen, &seen, s->self.slot + 1)) {
    }
    groups_clear_all(groups_of(s->self.slot)); /* of one whose thread an action has ended */
    atomic_store(&own->serial, nest__serial);
    atomic_store(&groups_of(s->self.slot)->gen, s->self.gen);
    nest__groups_store_open(s->self.slot);
}

/* Also of a session that has no end, because an action has ended its thread. */
void nest__groups_release(nest_session *s) {
    groups_clear_all(groups_of(s->self.slot));
}

void nest__groups_end(nest_session *s) {
    groups_clear_all(groups_of(s->self.slot));
}

void nest__groups_reaped(uint32_t worker) {
    if (nest__policy_many) {
        atomic_store(&groups_report(worker)->seen, 0);
    } else {
        groups_clear_all(groups_of(worker));
    }
}

uint64_t nest__groups_members(const struct nest__groups_key *key) {
    uint64_t members = 0;
    for (uint32_t slot = 0; groups_ever(slot); slot++) {
        members += groups_find(groups_of(slot), key) < NEST__GROUPS_EACH;
    }
    return members;
}

/* -- messages */

/* The session is read before the membership: a later membership is none of an earlier session,
 * which gets no mail any more. The time tells whether it was the same membership all the while. */
static int groups_post_to(uint32_t slot, const struct nest__groups_key *key, uint64_t sent,
                          const struct nest__groups_stored *stored) {
    struct groups_own *own = groups_of(slot);
    uint16_t serial = (uint16_t)atomic_load(&groups_report(nest__policy_many ? 0 : slot)->serial);
    nest__ref to = {.slot = slot, .gen = atomic_load(&own->gen)};
    uint32_t index = groups_find(own, key);
    if (index == NEST__GROUPS_EACH) {
        return 0;
    }
    struct groups_membership *membership = &own->memberships[index];
    uint64_t since = atomic_load(&membership->since);
    if (since == 0 || since > sent || !nest__groups_same(&membership->key, key) ||
        atomic_load(&membership->since) != since) {
        return 0;
    }
    return nest__mail_press(serial, to, NEST__SEND_STORED, stored, sizeof *stored);
}

int nest__groups_post(const struct nest__groups_key *key, const struct nest__send_text *text,
                      const nest_session *except) {
    uint64_t sent = nest__clock_ns();
    struct nest__groups_stored stored = nest__groups_store_put(text);
    int result = 0;
    for (uint32_t slot = 0; groups_ever(slot); slot++) {
        if (except == NULL || slot != except->self.slot) {
            int error = groups_post_to(slot, key, sent, &stored);
            result = error != 0 ? error : result;
        }
    }
    return result;
}

void nest__groups_mail(nest_session *s, uint32_t kind, const uint8_t *bytes, uint32_t n) {
    struct nest__groups_stored stored;
    const uint8_t *text;
    if (kind != NEST__SEND_STORED || n != sizeof stored) {
        return;
    }
    memcpy(&stored, bytes, sizeof stored);
    if ((text = nest__groups_store_get(&stored)) != NULL) {
        nest__send_deliver(s, text, stored.n);
    } else if (!NEST__LOSSY) {
        nest__mail_behind(s);
    }
}

void nest__groups_spread(uint32_t kind, const uint8_t *bytes, uint32_t n) {
    (void)kind, (void)bytes, (void)n;
}
