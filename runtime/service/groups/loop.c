/* loop.c: groups whose members are sessions of loops.
 *
 * Called by groups.c and at join points. State: the groups of this loop's sessions, and a table of
 * them that other loops read, with the number of members of each. A message goes once to every
 * other loop that has members, which hands it to them. Must not know what a message is about. */
#include "../../loop/loop.h"
#include "../../platform/platform.h"
#include "../../workers/mailbox.h"
#include "../mail/mail.h"
#include "groups.h"
#include "published.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_CHAINS = 4096 /* a power of 2 */ };

struct groups_member {
    struct groups_group *group;
    struct groups_member *next, **link; /* of the group */
    struct groups_member *following;    /* of the session */
    uint64_t since;                     /* when it joined */
    uint32_t slot;
};

struct groups_group {
    struct groups_group *next; /* of the chain */
    struct nest__groups_key key;
    struct groups_member *members;
    uint64_t count;
    struct nest__groups_entry *entry; /* what others read; NULL in a script */
};

static struct groups_group *groups_chains[GROUPS_CHAINS]; /* scope: worker */
static _Atomic(void *) groups_slab; /* scope: process; the first groups_member of each slot */

struct nest__need nest__groups_need(void) {
    uint64_t most =
        NEST__GROUPS_EACH * (sizeof(struct groups_member) + sizeof(struct groups_group));
    return (struct nest__need){"its groups", NULL, most, 0};
}

/* -- members */

static struct groups_group **groups_find(const struct nest__groups_key *key) {
    struct groups_group **link = &groups_chains[key->hash & (GROUPS_CHAINS - 1)];
    while (*link != NULL && memcmp(&(*link)->key, key, sizeof *key) != 0) {
        link = &(*link)->next;
    }
    return link;
}

/* A group without members. NULL, and *error: it cannot be made. */
static struct groups_group *groups_make(struct groups_group **link,
                                        const struct nest__groups_key *key, int *error) {
    struct groups_group *group = malloc(sizeof *group);
    struct nest__groups_entry *entry = NULL;
    *error = group == NULL ? -ENOMEM : nest__groups_enter(key, &entry);
    if (*error != 0) {
        free(group);
        return NULL;
    }
    *group = (struct groups_group){.key = *key, .entry = entry};
    *link = group;
    return group;
}

static void groups_count(struct groups_group *group, uint64_t count) {
    group->count = count;
    if (group->entry != NULL) {
        atomic_store(&group->entry->members, count);
    }
}

static void groups_drop_if_empty(struct groups_group **link) {
    struct groups_group *group = *link;
    if (group->count == 0) {
        *link = group->next;
        free(group);
    }
}

int nest__groups_join(nest_session *s, const struct nest__groups_key *key) {
    struct groups_member **slab = nest__slab(&groups_slab, sizeof *slab);
    struct groups_member *member;
    uint32_t others = 0;
    int error = 0;
    if (slab == NULL) {
        return -ENOMEM;
    }
    for (member = slab[s->self.slot]; member != NULL; member = member->following) {
        if (memcmp(&member->group->key, key, sizeof *key) == 0) {
            return 0;
        }
        others++;
    }
    if (others >= NEST__GROUPS_EACH) {
        return -ENOSPC;
    }
    struct groups_group **link = groups_find(key);
    struct groups_group *group = *link != NULL ? *link : groups_make(link, key, &error);
    if (group == NULL) {
        return error;
    }
    member = malloc(sizeof *member);
    if (member == NULL) {
        groups_drop_if_empty(link);
        return -ENOMEM;
    }
    *member = (struct groups_member){.group = group,
                                     .next = group->members,
                                     .link = &group->members,
                                     .following = slab[s->self.slot],
                                     .since = nest__clock_ns(),
                                     .slot = s->self.slot};
    if (group->members != NULL) {
        group->members->link = &member->next;
    }
    group->members = slab[s->self.slot] = member;
    groups_count(group, group->count + 1);
    return 0;
}

/* `of`: the link of its session. */
static void groups_part(struct groups_member **of) {
    struct groups_member *member = *of;
    struct groups_group *group = member->group;
    *of = member->following;
    *member->link = member->next;
    if (member->next != NULL) {
        member->next->link = member->link;
    }
    free(member);
    groups_count(group, group->count - 1);
    groups_drop_if_empty(groups_find(&group->key));
}

void nest__groups_leave(nest_session *s, const struct nest__groups_key *key) {
    struct groups_member **slab = atomic_load_explicit(&groups_slab, memory_order_acquire);
    if (slab == NULL) {
        return;
    }
    nest__mail_gather(); /* what was sent before is for this member */
    for (struct groups_member **of = &slab[s->self.slot]; *of != NULL; of = &(*of)->following) {
        if (memcmp(&(*of)->group->key, key, sizeof *key) == 0) {
            groups_part(of);
            return;
        }
    }
}

void nest__groups_open(nest_session *s) {
    (void)s;
    nest__groups_announce();
}

void nest__groups_end(nest_session *s) {
    struct groups_member **slab = atomic_load_explicit(&groups_slab, memory_order_acquire);
    while (slab != NULL && slab[s->self.slot] != NULL) {
        groups_part(&slab[s->self.slot]);
    }
}

uint64_t nest__groups_members(const struct nest__groups_key *key) {
    const struct groups_group *group = *groups_find(key);
    return (group == NULL ? 0 : group->count) + nest__groups_elsewhere(key);
}

/* -- messages */

static void groups_hand_out(const struct nest__groups_key *key, uint64_t sent, const uint8_t *bytes,
                            uint32_t n, const nest_session *except) {
    const struct groups_group *group = *groups_find(key);
    if (group == NULL) {
        return;
    }
    struct nest__mail_body *body = nest__mail_body(bytes, n);
    for (const struct groups_member *member = group->members; member != NULL;
         member = member->next) {
        bool earlier = member->since <= sent;
        if (earlier && (except == NULL || member->slot != except->self.slot)) {
            nest__mail_hold(nest__slot_at(member->slot), NEST__SEND_TEXT, body);
        }
    }
    nest__mail_body_leave(body);
}

int nest__groups_post(const struct nest__groups_key *key, const struct nest__send_text *text,
                      const nest_session *except) {
    uint64_t sent = nest__clock_ns();
    groups_hand_out(key, sent, text->p, text->n, except);
    return nest__groups_send_elsewhere(key, sent, text);
}

void nest__groups_mail(nest_session *s, uint32_t kind, const uint8_t *bytes, uint32_t n) {
    (void)s, (void)kind, (void)bytes, (void)n;
}

void nest__groups_spread(uint32_t kind, const uint8_t *bytes, uint32_t n) {
    struct nest__groups_head head;
    if (kind == NEST__SEND_GROUP && n > sizeof head) {
        memcpy(&head, bytes, sizeof head);
        groups_hand_out(&head.key, head.sent, bytes + sizeof head, n - (uint32_t)sizeof head, NULL);
    }
}

void nest__groups_release(nest_session *s) {
    (void)s; /* a loop's session is not released before its end */
}
