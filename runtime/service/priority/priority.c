/* priority.c: which class a client belongs to, and the quotas of classes.
 *
 * Called at join points, by actions, and by the loop. State: the class of each slot; the quotas,
 * parsed; how many messages were served. Must not know whose turn is next. */
#include "priority.h"
#include "../../platform/platform.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { PRIORITY_REASON = 256, PRIORITY_MOST = 1000, PRIORITY_LOWER = 64 };

/* scope: process, its loop's */
static struct {
    const char *text;               /* of the quotas, as they were parsed last */
    uint32_t served[NEST__CLASSES]; /* messages, not yet counted by the loop */
    uint32_t lower;                 /* served since the last look, of all classes but the first */
    uint32_t listeners[NEST__LISTEN_MAX];
} priority;

/* scope: process; helper threads read it. */
static _Atomic uint32_t priority_quotas[NEST__CLASSES];

/* scope: process; set once. */
static _Atomic(void *) priority_slab;
/* scope: process. Of all sessions, if there is no memory for the slab: the last class. */
static struct nest__priority_entry priority_none = {NEST__CLASSES - 1, NEST__CLASSES - 1, false};

/* -- numbers with slashes between */

/* How many numbers from 1 to `most`; 0: the text is none such, or has more than `room`. */
static unsigned priority_numbers(const char *text, uint32_t most, uint32_t *to, unsigned room) {
    for (unsigned n = 0; n < room; n++) {
        uint32_t number = 0;
        const char *p = text;
        while (*p >= '0' && *p <= '9' && number <= most) {
            number = number * 10 + (uint32_t)(*p++ - '0');
        }
        if (p == text || number < 1 || number > most || (*p != '/' && *p != '\0')) {
            return 0;
        }
        to[n] = number;
        if (*p == '\0') {
            return n + 1;
        }
        text = p + 1;
    }
    return 0;
}

int nest__priority_quota_valid(const char *text, char *reason) {
    uint32_t quotas[NEST__CLASSES];
    if (priority_numbers(text, PRIORITY_MOST, quotas, NEST__CLASSES) == NEST__CLASSES) {
        return 0;
    }
    snprintf(reason, PRIORITY_REASON,
             "'%.60s' is no quota of each of the %d classes: write %d numbers from 1 to %d with "
             "slashes between, that of class 1 first",
             text, NEST__CLASSES, NEST__CLASSES, PRIORITY_MOST);
    return -EINVAL;
}

int nest__priority_listen_valid(const char *text, char *reason) {
    uint32_t classes[NEST__LISTEN_MAX];
    if (strcmp(text, "none") == 0 ||
        priority_numbers(text, NEST__CLASSES, classes, NEST__LISTEN_MAX) > 0) {
        return 0;
    }
    snprintf(reason, PRIORITY_REASON,
             "'%.60s' is neither none nor a class from 1 to %d for each address of listen, with "
             "slashes between",
             text, NEST__CLASSES);
    return -EINVAL;
}

int nest__priority_start(void) {
    unsigned n = 0;
    const char *text = nest__config.listen_priority;
    if (text != NULL && strcmp(text, "none") != 0) {
        n = priority_numbers(text, NEST__CLASSES, priority.listeners, NEST__LISTEN_MAX);
    }
    for (unsigned i = n; i < NEST__LISTEN_MAX; i++) {
        priority.listeners[i] = NEST__CLASSES;
    }
    nest__priority_look();
    return 0;
}

void nest__priority_look(void) {
    uint32_t quotas[NEST__CLASSES];
    const char *text = atomic_load_explicit(&nest__config.quota, memory_order_acquire);
    priority.lower = 0;
    if (text == priority.text) {
        return;
    }
    priority.text = text;
    if (priority_numbers(text, PRIORITY_MOST, quotas, NEST__CLASSES) == NEST__CLASSES) {
        for (unsigned i = 0; i < NEST__CLASSES; i++) {
            atomic_store_explicit(&priority_quotas[i], quotas[i], memory_order_relaxed);
        }
    }
}

uint32_t nest__priority_quota(uint32_t rank) {
    return atomic_load_explicit(&priority_quotas[rank], memory_order_relaxed);
}

/* -- classes of clients */

struct nest__priority_entry *nest__priority_entry(const nest_session *s) {
    struct nest__priority_entry *slab = nest__slab(&priority_slab, sizeof *slab);
    return slab == NULL ? &priority_none : &slab[s->self.slot];
}

bool nest__priority_holds(const nest_session *s) {
    return nest__priority_entry(s) != &priority_none;
}

uint32_t nest__priority_of_listener(unsigned index) {
    return priority.listeners[index] - 1;
}

void nest__priority_arrives(const nest_session *s, unsigned listener) {
    struct nest__priority_entry *entry = nest__priority_entry(s);
    uint32_t rank = nest__priority_of_listener(listener);
    if (entry != &priority_none) {
        *entry = (struct nest__priority_entry){.rank = (uint8_t)rank};
    }
}

void nest__priority_take(nest_session *s, const struct nest__rule *rule, const uint8_t *bytes,
                         uint32_t n) {
    (void)rule, (void)bytes, (void)n;
    uint32_t rank = nest__priority_entry(s)->rank;
    priority.served[rank]++;
    priority.lower += rank > 0;
}

uint32_t nest__priority_served(uint32_t rank) {
    uint32_t served = priority.served[rank];
    priority.served[rank] = 0;
    return served;
}

bool nest__priority_soon(void) {
    return priority.lower >= PRIORITY_LOWER;
}

/* Several sessions may go on before the loop looks: those whose waits are over. The turn was given
 * to the class that the client had then. An action that comes home from a thread has no turn. */
bool nest__priority_yield(const nest_session *s) {
    const struct nest__priority_entry *entry = nest__priority_entry(s);
    return NEST__PROCESSORS || (nest__priority_soon() && entry->rank > 0) ||
           entry->rank != entry->queued;
}

int nest_priority(nest_session *s, long number) {
    struct nest__priority_entry *entry = nest__priority_entry(s);
    bool is = number >= 1 && number <= NEST__CLASSES;
    if (!is || entry == &priority_none) {
        errno = is ? ENOMEM : EINVAL;
        return -1;
    }
    entry->rank = (uint8_t)(number - 1);
    return 0;
}

struct nest__need nest__priority_need(void) {
    return (struct nest__need){"its class, for priorities", NULL,
                               sizeof(struct nest__priority_entry), 0};
}
