/* overload.c: option overload: whether a loop has too much to do to take new clients.
 *
 * Called at join points, on the loop's thread. Overload begins when a queue has its HIGH length,
 * and ends when every queue has its LOW length or less. A new client counts as one that has
 * something to do until the loop looks what has come. With a duration, it begins when each turn
 * of the loop has taken more for a while, and ends with the first turn that has not, or when the
 * loop has slept for longer: what comes during a turn waits until its end. With option processors
 * it also begins when, for a while, there was always an action that had waited for longer for a
 * thread, and ends when there is none. If the specification has an OVERLOAD rule, clients are
 * turned away meanwhile, else they wait in the queues of the listeners. State, per process: the
 * option, parsed; whether the loop is overloaded. Must not know what sessions do. */
#include "overload.h"
#include "../../config/config.h"
#include "../../loop/helpers.h"
#include "../../loop/share.h"
#include "../../platform/platform.h"
#include "../processors/processors.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    OVERLOAD_REASON = 256,
    OVERLOAD_WHY = 64,
    OVERLOAD_LASTS_MS = 100, /* so long turns must be too long before overload begins */
    OVERLOAD_LOOK_MS = 50,   /* other loops' clients leave without a word to this one */
    OVERLOAD_SAY_MS = 60000,
    OVERLOAD_TOLD = 64, /* at a time in a loop, or this part of all places: those that */
    OVERLOAD_PART = 4   /* do not leave have a place meanwhile */
};

enum overload_queue { OVERLOAD_ACCEPTED, OVERLOAD_ACTIONS, OVERLOAD_FILES, OVERLOAD_QUEUES };
/* The most that makes sense; as in the table of options. A poller is told of no more actions than
 * it has room for. */
static const struct {
    const char *name;
    uint32_t most;
} overload_queues[OVERLOAD_QUEUES] = {/* scope: process, constant */
                                      [OVERLOAD_ACCEPTED] = {"accepted", NEST__CLIENTS_MOST},
                                      [OVERLOAD_ACTIONS] = {"actions", 250},
                                      [OVERLOAD_FILES] = {"files", NEST__CLIENTS_MOST}};

struct overload_value {
    uint32_t high[OVERLOAD_QUEUES], low[OVERLOAD_QUEUES]; /* high 0: the queue is not watched */
    uint32_t turn;                                        /* ms; 0: any */
};

static struct {       /* scope: process, its loop's */
    const char *text; /* of the option, as it was parsed last */
    struct overload_value value;
    bool over;
    uint32_t actions;  /* of the loop, when it looked last */
    uint32_t taken;    /* new clients since, who may have something to do as well */
    bool asleep;       /* the loop has been asked before its sleep, and not yet behind it */
    uint64_t slept;    /* us; when it was asked before its sleep */
    uint64_t woke;     /* us; 0: it has not slept since the option was read */
    uint64_t too_long; /* us: the start of the first of the turns that all took too long; 0: none */
    uint64_t waits;    /* us: since when an action has waited too long for a thread; 0: none has */
    uint64_t said;     /* ms */
} overload;

/* scope: process; set once. Whether the session of a slot is one that was turned away. */
static _Atomic(void *) overload_slab;

/* -- clients that are turned away: they are told so, and are none that are served */

static uint32_t overload_served(void) {
    uint32_t clients = nest__share_clients(), told = nest__overload_told_all();
    return told < clients ? clients - told : 0;
}

void nest__overload_release(nest_session *s) {
    bool *slab = atomic_load(&overload_slab);
    if (slab != NULL && slab[s->self.slot]) {
        slab[s->self.slot] = false;
        nest__overload_told_add(-1);
    }
}

/* -- the option */

static const char *overload_word(const char *text, size_t *n) {
    text += strspn(text, " \t");
    *n = strcspn(text, " \t");
    return text;
}

/* A number that fills a word. False: it is none, or more than `most`. */
static bool overload_number(const char **text, uint32_t most, uint32_t *to) {
    size_t n;
    const char *word = overload_word(*text, &n);
    *to = 0;
    for (size_t i = 0; i < n; i++) {
        if (word[i] < '0' || word[i] > '9' || *to > most) {
            return false;
        }
        *to = *to * 10 + (uint32_t)(word[i] - '0');
    }
    *text = word + n;
    return n > 0 && *to <= most;
}

static bool overload_marks(const char **text, struct overload_value *value) {
    enum overload_queue queue = 0;
    size_t n;
    const char *word = overload_word(*text, &n);
    while (queue < OVERLOAD_QUEUES && (strlen(overload_queues[queue].name) != n ||
                                       memcmp(word, overload_queues[queue].name, n) != 0)) {
        queue++;
    }
    if (queue == OVERLOAD_QUEUES) {
        queue = OVERLOAD_ACCEPTED;
    } else {
        *text = word + n;
    }
    uint32_t most = overload_queues[queue].most;
    return value->high[queue] == 0 && overload_number(text, most, &value->high[queue]) &&
           overload_number(text, most, &value->low[queue]) &&
           value->low[queue] < value->high[queue];
}

/* A duration that is the whole text. */
static bool overload_duration(const char *text, uint32_t *ms) {
    uint64_t number;
    bool is = nest__duration_read(text, &number) && number > 0 && number <= NEST__LONGEST;
    *ms = is ? (uint32_t)number : 0;
    return is;
}

static bool overload_parse(const char *text, struct overload_value *value) {
    *value = (struct overload_value){.turn = 0};
    if (strcmp(text, "none") == 0 || overload_duration(text, &value->turn)) {
        return true;
    }
    bool fits = text[strspn(text, " \t")] != '\0';
    while (fits && text[strspn(text, " \t")] != '\0') {
        fits = overload_marks(&text, value);
    }
    return fits;
}

int nest__overload_valid(const char *text, char *reason) {
    struct overload_value value;
    if (overload_parse(text, &value)) {
        return 0;
    }
    snprintf(reason, OVERLOAD_REASON,
             "'%.60s' is none of: none; a duration, such as 5ms; queues, each with the length at "
             "which overload begins and a smaller one at which it ends, such as accepted 900 800 "
             "actions 20 5 files 50 10",
             text);
    return -EINVAL;
}

/* -- the load */

/* It begins. */
static void overload_say(const char *why) {
    uint64_t now = nest__clock_ms();
    const char *what = nest__has_overload ? "are turned away" : "wait";
    if (overload.said != 0 && now - overload.said < OVERLOAD_SAY_MS) {
        return;
    }
    overload.said = now;
    nest__say("overload: %s; new clients %s", why, what);
}

/* Whether the turn that ends now makes overload begin or last. */
static bool overload_is_late(uint64_t now) {
    if (overload.woke == 0 || now - overload.woke <= (uint64_t)overload.value.turn * 1000) {
        overload.too_long = 0;
        return false;
    }
    overload.too_long = overload.too_long == 0 ? overload.woke : overload.too_long;
    return overload.over || now - overload.too_long >= (uint64_t)OVERLOAD_LASTS_MS * 1000;
}

/* The same for actions that wait for a thread: each look finds one that has waited too long. */
static bool overload_waits(uint64_t now) {
    uint64_t most = (uint64_t)overload.value.turn * 1000,
             waited = NEST__PROCESSORS ? nest__processors_waited(now) : 0;
    if (waited <= most) {
        overload.waits = 0;
        return false;
    }
    uint64_t since = now - (waited - most);
    if (overload.waits == 0 || since < overload.waits) {
        overload.waits = since;
    }
    return overload.over || now - overload.waits >= (uint64_t)OVERLOAD_LASTS_MS * 1000;
}

/* late: what takes too long; NULL: nothing. */
static void overload_look(uint32_t actions, const char *late) {
    if (NEST__PROCESSORS && overload.value.high[OVERLOAD_ACTIONS] != 0) { /* it takes a lock */
        actions += nest__processors_waiting();
    }
    const uint32_t lengths[OVERLOAD_QUEUES] = {[OVERLOAD_ACCEPTED] = overload_served(),
                                               [OVERLOAD_ACTIONS] = actions,
                                               [OVERLOAD_FILES] = nest__helpers_queued()};
    bool over = late != NULL;
    for (int queue = 0; queue < OVERLOAD_QUEUES; queue++) {
        uint32_t high = overload.value.high[queue], low = overload.value.low[queue];
        if (high != 0 && lengths[queue] >= (overload.over ? low + 1 : high)) {
            if (!overload.over && !over) {
                char why[OVERLOAD_WHY];
                snprintf(why, sizeof why, "the queue of %s has %u", overload_queues[queue].name,
                         (unsigned)lengths[queue]);
                overload_say(why);
            }
            over = true;
        }
    }
    if (late != NULL && !overload.over) {
        overload_say(late);
    }
    overload.over = over;
}

static uint32_t overload_told_most(void) {
    uint32_t part = nest__config.max_clients / OVERLOAD_PART;
    return part > OVERLOAD_TOLD ? part : OVERLOAD_TOLD;
}

/* Clients are taken in rows. So those who come at once do not all get in because the loop had
 * little to do when it looked. */
int nest__overload_admit(nest_session *s) {
    bool *slab = nest__slab(&overload_slab, sizeof *slab);
    if (slab == NULL || !overload.over || !nest__has_overload) {
        overload.taken++;
        if (!overload.over) {
            overload_look(overload.actions + overload.taken, NULL);
        }
        return NEST__ADMITTED;
    }
    if (nest__overload_told_own() >= overload_told_most()) {
        return NEST__REFUSED;
    }
    slab[s->self.slot] = true;
    nest__overload_told_add(1);
    return NEST__TURNED_AWAY;
}

bool nest__overload_enough(void) {
    return overload.over && !nest__has_overload;
}

bool nest__overload_load(uint32_t actions) {
    const char *text = atomic_load_explicit(&nest__config.overload, memory_order_acquire);
    if (text != overload.text) {
        (void)overload_parse(text, &overload.value);
        overload.text = text;
        overload.too_long = 0;
        overload.waits = 0;
        overload.woke = 0;
    }
    const char *late = NULL;
    if (overload.value.turn != 0) {
        uint64_t now = nest__clock_us();
        if (!overload.asleep) {
            late = overload_is_late(now) ? "turns of the loop take too long" : NULL;
            overload.slept = now;
        } else { /* after a long sleep nothing has waited, and turns are counted anew */
            bool idle = now - overload.slept > (uint64_t)overload.value.turn * 1000;
            late = overload.over && !idle ? "" : NULL; /* it lasts: nothing is said */
            overload.too_long = idle ? 0 : overload.too_long;
            overload.woke = now;
        }
        if (overload_waits(now)) {
            late = "actions wait too long for a thread";
        }
    }
    overload.asleep = !overload.asleep;
    overload.actions = actions;
    overload.taken = 0;
    overload_look(actions, late);
    return nest__overload_enough();
}

/* The loop wakes for this, and looks before it sleeps again. */
uint32_t nest__overload_due(void) {
    return overload.over && !nest__has_overload ? OVERLOAD_LOOK_MS : 0;
}
