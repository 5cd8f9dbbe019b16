/* slots.c: which session records are free.
 *
 * Called by the other files of loop/ and by pollers. State: of this process's loop. The list goes
 * through `next` of the records, as the ready list does: a session is free, or it may have a turn.
 * Must not know what a session does. */
#include "slots.h"
#include "../channel/pool.h"
#include "wheel.h"

static struct {
    nest_session *records;
    uint32_t most, ever, taken, free;
    bool prefer_new;
} slots = {.free = NEST__NO_SLOT};

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
