/* slots.c: which session records are free, and the list of those that have a turn.
 *
 * Called by the other files of loop/ and by pollers. State: of this process's loop. Both lists go
 * through `next` of the records: a session is free, or it may have a turn. Must not know what a
 * session does. */
#include "slots.h"
#include "../channel/pool.h"
#include "wheel.h"

static struct {
    nest_session *records;
    uint32_t most, ever, taken, free;
    bool prefer_new;
} slots = {.free = NEST__NO_SLOT};

static struct { uint32_t first, last, count; } ready = {.first = NEST__NO_SLOT};

void nest__slots_begin(nest_session *records, uint32_t most) {
    slots.records = records;
    slots.most = most;
}

nest_session *nest__slot_at(uint32_t slot) {
    return &slots.records[slot];
}

struct nest__wheel_slot *nest__wheel_slot(uint32_t number) {
    struct nest__further *further = nest__further_timed(number);
    return further != NULL ? &further->until : &slots.records[number].until;
}

uint32_t nest__slots_ever(void) {
    return slots.ever;
}

uint32_t nest__slots_taken(void) {
    return slots.taken;
}

void nest__slots_limit(uint32_t most) {
    slots.most = most;
}

void nest__slots_prefer_new(bool prefer) {
    slots.prefer_new = prefer;
}

nest_session *nest__slot_take(void) {
    nest_session *s;
    bool fresh = slots.ever < slots.most;
    if (slots.free != NEST__NO_SLOT && !(fresh && slots.prefer_new)) {
        s = &slots.records[slots.free];
        slots.free = s->next;
    } else if (fresh) {
        s = &slots.records[slots.ever];
        s->self = (nest__ref){slots.ever++, 0};
    } else {
        return NULL;
    }
    slots.taken++;
    return s;
}

void nest__slot_give(nest_session *s, bool used) {
    s->phase = NEST__FREE;
    s->self.gen += used;
    s->next = slots.free;
    slots.free = s->self.slot;
    slots.taken--;
}

void nest__ready_add(nest_session *s) {
    s->flags |= NEST__READY;
    s->next = NEST__NO_SLOT;
    if (ready.first == NEST__NO_SLOT) {
        ready.first = s->self.slot;
    } else {
        slots.records[ready.last].next = s->self.slot;
    }
    ready.last = s->self.slot;
    ready.count++;
}

nest_session *nest__ready_take(void) {
    if (ready.first == NEST__NO_SLOT) {
        return NULL;
    }
    nest_session *s = &slots.records[ready.first];
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
    for (uint32_t at = ready.first; at != s->self.slot; at = slots.records[at].next) {
        before = at;
    }
    if (before == NEST__NO_SLOT) {
        ready.first = s->next;
    } else {
        slots.records[before].next = s->next;
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
