/* ready_classes.c: the sessions that have a turn, by classes (option priorities).
 *
 * Called by the other files of loop/. State: of this process's loop: a list of sessions and a set
 * of listeners for each class; the class that has the present turn, whose work is counted when the
 * turn is over. Whatever a client sends is taken at once, and waits here until its class has a
 * turn. So nothing is served in the order in which the system reports it. The loop looks for what
 * has come after few messages of lower classes, so a client of a higher class never waits for many.
 * Must not know what a session does. */
#include "../engine/engine.h" /* nest__hold, nothing else */
#include "accept.h"
#include "classes.h"
#include "loop.h"
#include "ready.h"
#include "slots.h"

/* So many turns may pass before the loop asks what has come meanwhile for a class that goes first.
 */
enum { READY_TURNS = 16 };

struct ready_list { /* of sessions, through `next` of their records */
    uint32_t first, last, count;
};

/* scope: process, its loop's */
static struct {
    struct nest__classes classes;
    struct ready_list lists[NEST__CLASSES];
    uint32_t listeners[NEST__CLASSES]; /* bits: clients wait there */
    uint32_t count, waiting;           /* sessions, listeners */
    uint32_t turn;                     /* the class that has it + 1; 0: none */
    bool accepts[NEST__CLASSES];       /* of the next turn of the class, if both wait */
} ready;

_Static_assert(NEST__LISTEN_MAX <= 32, "listeners have a bit each");

/* The turn is over. Others may have been served as well: those whose waits ended meanwhile, without
 * a turn. So each message is counted for the class of its own client. */
static void ready_settle(void) {
    for (uint32_t rank = 0; rank < NEST__CLASSES; rank++) {
        uint32_t served = nest__priority_served(rank);
        bool idle = served == 0 && ready.turn == rank + 1; /* a turn costs something */
        nest__classes_charge(&ready.classes, rank, idle ? 1 : served);
    }
    ready.turn = 0;
}

/* -- sessions */

void nest__ready_add(nest_session *s) {
    struct nest__priority_entry *entry = nest__priority_entry(s);
    struct ready_list *list = &ready.lists[entry->rank];
    s->flags |= NEST__READY;
    s->next = NEST__NO_SLOT;
    entry->queued = entry->rank;
    entry->held = false;
    if (list->count++ == 0) {
        list->first = s->self.slot;
    } else {
        nest__slot_at(list->last)->next = s->self.slot;
    }
    list->last = s->self.slot;
    ready.count++;
    nest__classes_add(&ready.classes, entry->rank);
}

/* One session less is in the list. */
static void ready_leaves(nest_session *s, uint32_t rank) {
    s->flags &= (uint8_t)~NEST__READY;
    ready.lists[rank].count--;
    ready.classes.waiting[rank]--;
    ready.count--;
}

nest_session *nest__ready_take(void) {
    ready_settle();
    uint32_t rank = nest__classes_next(&ready.classes);
    if (rank == NEST__CLASSES || ready.lists[rank].count == 0) {
        return NULL;
    }
    nest_session *s = nest__slot_at(ready.lists[rank].first);
    ready.lists[rank].first = s->next;
    ready_leaves(s, rank);
    nest__priority_entry(s)->held = false;
    ready.turn = rank + 1;
    ready.accepts[rank] = true;
    return s;
}

void nest__ready_drop(nest_session *s) {
    uint32_t rank = nest__priority_entry(s)->queued, before = NEST__NO_SLOT;
    struct ready_list *list = &ready.lists[rank];
    if ((s->flags & NEST__READY) == 0) {
        return;
    }
    for (uint32_t at = list->first; at != s->self.slot; at = nest__slot_at(at)->next) {
        before = at;
    }
    if (before == NEST__NO_SLOT) {
        list->first = s->next;
    } else {
        nest__slot_at(before)->next = s->next;
    }
    if (list->last == s->self.slot) {
        list->last = before;
    }
    ready_leaves(s, rank);
}

uint32_t nest__ready_count(void) {
    return ready.count;
}

uint32_t nest__ready_turns(void) {
    uint32_t turns = ready.count + ready.waiting;
    nest__priority_look();
    return turns < READY_TURNS ? turns : READY_TURNS;
}

bool nest__ready_soon(void) {
    return nest__priority_soon();
}

bool nest__ready_hold(nest_session *s, struct nest__window *window) {
    if (nest__loop.stopping || s->phase != NEST__READING || !nest__priority_holds(s) ||
        nest__hold(s, window) < 0) {
        return false;
    }
    nest__ready_add(s);
    nest__priority_entry(s)->held = true;
    return true;
}

bool nest__ready_held(const nest_session *s) {
    return nest__priority_entry(s)->held;
}

/* -- listeners */

bool nest__ready_listener(unsigned index) {
    uint32_t rank = nest__priority_of_listener(index);
    if ((ready.listeners[rank] >> index & 1) == 0) {
        ready.listeners[rank] |= UINT32_C(1) << index;
        ready.waiting++;
        nest__classes_add(&ready.classes, rank);
    }
    return true;
}

bool nest__ready_paces(void) {
    return true;
}

/* One of these, and not always the same. */
static unsigned ready_index(uint32_t listeners) {
    uint32_t behind = nest__accept.first < 32 ? listeners >> nest__accept.first : 0;
    return behind != 0 ? nest__accept.first + (unsigned)__builtin_ctz(behind)
                       : (unsigned)__builtin_ctz(listeners);
}

/* A listener waits until no client is left at it, as far as that is known without another try: it
 * may have more than one turn before the system reports it again. START may wait: other turns may
 * have passed when accepting returns. */
bool nest__ready_accept(void) {
    ready_settle();
    uint32_t rank = nest__classes_next(&ready.classes);
    if (rank == NEST__CLASSES || ready.listeners[rank] == 0 ||
        (ready.lists[rank].count > 0 && !ready.accepts[rank])) {
        return false;
    }
    unsigned index = ready_index(ready.listeners[rank]);
    ready.accepts[rank] = false;
    ready.turn = rank + 1;
    ready.listeners[rank] &= ~(UINT32_C(1) << index);
    ready.classes.waiting[rank]--;
    ready.waiting--;
    if (nest__accept_listener(index) && nest__poller_again()) {
        (void)nest__ready_listener(index);
    }
    return true;
}

void nest__ready_arrives(nest_session *s, unsigned listener) {
    nest__priority_arrives(s, listener);
}
