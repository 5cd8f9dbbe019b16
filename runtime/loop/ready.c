/* ready.c: the sessions that have a turn: first in, first out.
 *
 * Called by the other files of loop/. State: of this process's loop; the list goes through `next`
 * of the records. Must not know what a session does. */
#include "ready.h"
#include "slots.h"

static struct { uint32_t first, last, count; } ready = {.first = NEST__NO_SLOT};

void nest__ready_add(nest_session *s) {
    s->flags |= NEST__READY;
    s->next = NEST__NO_SLOT;
    if (ready.first == NEST__NO_SLOT) {
        ready.first = s->self.slot;
    } else {
        nest__slot_at(ready.last)->next = s->self.slot;
    }
    ready.last = s->self.slot;
    ready.count++;
}

nest_session *nest__ready_take(void) {
    if (ready.first == NEST__NO_SLOT) {
        return NULL;
    }
    nest_session *s = nest__slot_at(ready.first);
    ready.first = s->next;
    ready.count--;
    s->flags &= (uint8_t)~NEST__READY;
    return s;
}

void nest__ready_drop(nest_session *s) {
    uint32_t before = NEST__NO_SLOT;
    if ((s->flags & NEST__READY) == 0) {
        return;
    }
    for (uint32_t at = ready.first; at != s->self.slot; at = nest__slot_at(at)->next) {
        before = at;
    }
    if (before == NEST__NO_SLOT) {
        ready.first = s->next;
    } else {
        nest__slot_at(before)->next = s->next;
    }
    if (ready.last == s->self.slot) {
        ready.last = before;
    }
    ready.count--;
    s->flags &= (uint8_t)~NEST__READY;
}

uint32_t nest__ready_count(void) {
    return ready.count;
}

uint32_t nest__ready_turns(void) {
    return ready.count;
}

bool nest__ready_soon(void) {
    return false;
}

bool nest__ready_hold(nest_session *s, struct nest__window *window) {
    (void)s, (void)window;
    return false;
}

bool nest__ready_held(const nest_session *s) {
    (void)s;
    return false;
}

bool nest__ready_listener(unsigned index) {
    (void)index;
    return false;
}

bool nest__ready_paces(void) {
    return false;
}

bool nest__ready_accept(void) {
    return false;
}

void nest__ready_arrives(nest_session *s, unsigned listener) {
    (void)s, (void)listener;
}
