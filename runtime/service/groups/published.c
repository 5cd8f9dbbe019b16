/* published.c: what loops let each other know of their groups.
 *
 * Called by loop.c and at join points. State: in the report of each worker, its number and a table
 * of groups with the number of their members in that loop. The table has a bound: a group stands
 * within GROUPS_PROBES entries of its place. Others read it while it changes, and believe it only
 * when they decide whether a message is sent. Must not know members. */
#include "published.h"
#include "../../platform/platform.h"
#include "../../workers/children.h"
#include "../../workers/dispatchers.h"
#include "../../workers/mailbox.h"

#include <errno.h>
#include <string.h>

enum { GROUPS_ENTRIES = 65536 /* a power of 2 */, GROUPS_PROBES = 128 };

struct published_table {
    _Atomic uint32_t serial; /* of the worker, plus 1; 0: it has had no client yet */
    struct nest__groups_entry entries[GROUPS_ENTRIES];
};

static size_t published_at; /* scope: process; in a report */
static uint8_t
    published_mail[sizeof(struct nest__groups_head) + NEST__SEND_MOST]; /* scope: worker */
_Static_assert(sizeof published_mail <= NEST__MAIL_MOST, "a message for a group fits");

int nest__groups_start(void) {
    published_at = nest__report_reserve(sizeof(struct published_table));
    return 0;
}

int nest__groups_serve(void) {
    return 0;
}

static struct published_table *published_of(uint32_t worker) {
    return (void *)((char *)nest__report_page(worker) + published_at);
}

void nest__groups_announce(void) {
    struct published_table *own = nest__report_own(published_at);
    if (own != NULL) {
        atomic_store(&own->serial, (uint32_t)nest__serial + 1);
    }
}

/* The entry of this group; NULL: there is none. Entries are never cleared while their worker lives,
 * so the first that was never used ends the search. */
static struct nest__groups_entry *published_find(struct published_table *table,
                                                 const struct nest__groups_key *key) {
    for (uint32_t i = 0; i < GROUPS_PROBES; i++) {
        struct nest__groups_entry *entry = &table->entries[(key->hash + i) & (GROUPS_ENTRIES - 1)];
        if (atomic_load(&entry->key.hash) == 0) {
            return NULL;
        }
        if (nest__groups_same(&entry->key, key)) {
            return entry;
        }
    }
    return NULL;
}

int nest__groups_enter(const struct nest__groups_key *key, struct nest__groups_entry **entry) {
    struct published_table *own = nest__report_own(published_at);
    *entry = NULL;
    if (own == NULL || (*entry = published_find(own, key)) != NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < GROUPS_PROBES; i++) {
        struct nest__groups_entry *free = &own->entries[(key->hash + i) & (GROUPS_ENTRIES - 1)];
        if (atomic_load(&free->members) == 0) {
            nest__groups_publish(&free->key, key);
            *entry = free;
            return 0;
        }
    }
    return -ENOSPC;
}

/* How many members there are in that loop, as far as can be true. */
static uint64_t published_members(uint32_t worker, const struct nest__groups_key *key) {
    struct published_table *table = published_of(worker);
    struct nest__groups_entry *entry =
        atomic_load(&table->serial) == 0 ? NULL : published_find(table, key);
    uint64_t members = entry == NULL ? 0 : atomic_load(&entry->members);
    return members <= nest__config.max_clients ? members : 0;
}

/* To the service process, all loops are others. */
static bool published_other(uint32_t worker) {
    return published_of(worker) != nest__report_own(published_at);
}

uint64_t nest__groups_elsewhere(const struct nest__groups_key *key) {
    uint64_t members = 0;
    for (uint32_t worker = 0; worker < nest__dispatchers_most(); worker++) {
        members += published_other(worker) ? published_members(worker, key) : 0;
    }
    return members;
}

int nest__groups_send_elsewhere(const struct nest__groups_key *key, uint64_t sent,
                                const struct nest__send_text *text) {
    struct nest__groups_head head = {.key = *key, .sent = sent};
    int result = 0;
    bool composed = false;
    for (uint32_t worker = 0; worker < nest__dispatchers_most(); worker++) {
        if (!published_other(worker) || published_members(worker, key) == 0) {
            continue;
        }
        if (!composed) {
            memcpy(published_mail, &head, sizeof head);
            memcpy(published_mail + sizeof head, text->p, text->n);
            composed = true;
        }
        uint32_t serial = atomic_load(&published_of(worker)->serial);
        if (serial == 0) {
            continue; /* it has died meanwhile: this is no address */
        }
        int error =
            nest__mail_send((uint16_t)(serial - 1), (nest__ref){.slot = NEST__NO_NUMBER},
                            NEST__SEND_GROUP, published_mail, (uint32_t)sizeof head + text->n);
        result = error != 0 ? error : result;
    }
    return result;
}

/* The worker has died with its members. */
void nest__groups_reaped(uint32_t worker) {
    atomic_store(&published_of(worker)->serial, 0);
}
